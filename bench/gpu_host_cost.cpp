// What a warm call costs the host in C++: microseconds from run() to its return, the GPU never
// behind. Python's cost of the same call: gpu_host_cost.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "harness/cases/instance.hpp"
#include "harness/memory/cuda_device.hpp"
#include "wgrad/executable.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// The least of the rounds' means: other work on the machine only adds.
double microseconds(const wgrad::Executable& op, const wgrad::Operands& operands,
                    wgrad::harness::Device& device) {
  constexpr int kRounds = 20, kCalls = 200;  // fewer than a stream's queue holds
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) op.run(operands);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    device.synchronize();
    least = std::min(least, took.count() / kCalls);
  }
  return least;
}

}  // namespace

int main() {
  using namespace wgrad;
  if (cuda_device_count() == 0) return fmt::print("no CUDA device on this machine\n"), 1;
  const auto memory = harness::cuda_memory(0);
  for (const std::int64_t experts : {8, 64, 512}) {
    harness::Case c;
    c.problem = harness::problem_of(harness::formats()[0], 128, 128);
    c.counts.assign(static_cast<std::size_t>(experts), 8);
    const harness::CaseData data(c);
    harness::Instance instance(data, memory);
    const Executable op =
        prepare(harness::problem(c), cuda_device(0), {.backend = "cuda", .device = 0});
    op.run(instance.operands());
    memory->synchronize();
    fmt::print("{:4} experts: {:.2f} us a call\n", experts,
               microseconds(op, instance.operands(), *memory));
  }
  return 0;
}
