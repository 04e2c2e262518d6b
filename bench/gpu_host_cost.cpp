// What a warm call costs the host in C++: microseconds from run() to its return, the GPU never
// behind. Python's cost of the same call: gpu_host_cost.py.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include "support/cuda_stream.hpp"
#include "support/instance.hpp"
#include "support/targets.hpp"
#include "wgrad/executable.hpp"

namespace {

using Clock = std::chrono::steady_clock;

/// The least of the rounds' means: other work on the machine only adds.
double microseconds(const wgrad::Executable& op, const wgrad::Operands& operands,
                    const wgrad::test::CudaStream& stream) {
  constexpr int kRounds = 20, kCalls = 200;  // fewer than a stream's queue holds
  double least = 1e9;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int call = 0; call < kCalls; ++call) op.run(operands);
    const std::chrono::duration<double, std::micro> took = Clock::now() - start;
    stream.synchronize();
    least = std::min(least, took.count() / kCalls);
  }
  return least;
}

}  // namespace

int main() {
  using namespace wgrad;
  for (const test::Target& target : test::targets()) {
    if (target.backend != "cuda") continue;
    for (const std::int64_t experts : {8, 64, 512}) {
      test::Case c;
      c.problem = test::problem_of(test::formats()[0], 128, 128);
      c.counts.assign(static_cast<std::size_t>(experts), 8);
      const test::CaseData data(c);
      test::Instance instance(data, target.memory);
      const test::CudaStream stream(0);
      instance.operands().stream = stream.handle();
      const Executable op =
          prepare(test::problem(c), target.device, {.backend = "cuda", .device = 0});
      op.run(instance.operands());
      stream.synchronize();
      fmt::print("{:4} experts: {:.2f} us a call\n", experts,
                 microseconds(op, instance.operands(), stream));
    }
    return 0;
  }
  fmt::print("no CUDA device of SM 9.0 on this machine\n");
  return 1;
}
