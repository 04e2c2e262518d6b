// The list of bit_cases.hpp on CUDA device 0. Exit status 77: there is none.
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "backends/cuda_backend.hpp"
#include "emu/bits/bit_program.hpp"
#include "emu/kernels/kernel_configs.hpp"
#include "harness/memory/cuda_device.hpp"
#include "kernels/family.hpp"
#include "kernels/sm90/config.hpp"

namespace {

using namespace wgrad;
using namespace wgrad::test;

Bytes run_cuda(const KernelCase& k, const CaseData& data, const std::shared_ptr<Device>& memory) {
  const Problem& problem = data.source.problem;
  const DeviceSpec device = cuda_device(0);
  plan::Plan plan;
  plan.backend = "cuda";
  plan.family = kernels::families().front();
  plan.config = kernels::sm90::launch_values(kKernelConfigs[k.kernel], problem, device);
  const auto kernel = backends::cuda_backend().build(problem, plan, device, {});
  Instance instance(data, memory);
  kernel->launch(instance.operands());
  Bytes first = instance.output();
  instance.reset_output();
  kernel->launch(instance.operands());
  if (instance.output() != first) throw std::runtime_error("the second run differs");
  return first;
}

}  // namespace

int main(int argc, char** argv) {
  if (cuda_device_count() == 0) return fmt::print("no CUDA device\n"), 77;
  const auto memory = aligned(cuda_memory(0));
  return bit_program(argc, argv, [&](const KernelCase& k, const CaseData& data) {
    return run_cuda(k, data, memory);
  });
}
