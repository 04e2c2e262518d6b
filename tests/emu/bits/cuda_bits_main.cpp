// The list of bit_cases.hpp on CUDA device 0, of the family that its compute capability has. Of
// --compare FOLDER it takes that family's record there. Exit status 77: there is no device.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/cuda_backend.hpp"
#include "emu/bits/bit_program.hpp"
#include "emu/kernels/kernel_configs.hpp"
#include "emu/kernels/sm100_kernel_configs.hpp"
#include "harness/memory/cuda_device.hpp"
#include "kernels/family.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm90/config.hpp"

namespace {

using namespace wgrad;
using namespace wgrad::test;

/// What a family of kernels has here.
struct Family {
  std::string_view name;
  std::string_view record;  ///< a file of this folder
  BitKernels kernels;
  plan::AnyConfig (*config)(const KernelCase& k, const Problem& problem, const DeviceSpec& device);
};

std::vector<Family> families() {
  return {{"sm90", "h200_bits.txt", sm90_bit_kernels(),
           [](const KernelCase& k, const Problem& p, const DeviceSpec& d) {
             return plan::AnyConfig(kernels::sm90::launch_values(kKernelConfigs[k.kernel], p, d));
           }},
          {"sm100", "sm100_bits.txt", sm100_bit_kernels(),
           [](const KernelCase& k, const Problem& p, const DeviceSpec& d) {
             return plan::AnyConfig(kernels::sm100::launch_values(kSm100Configs[k.kernel], p, d));
           }}};
}

const kernels::KernelFamily* family_of(std::string_view name) {
  const auto all = kernels::families();
  return *std::find_if(all.begin(), all.end(), [&](const auto* f) { return f->name == name; });
}

/// Throws where no family serves the device.
Family family_for(const DeviceSpec& device) {
  for (Family& family : families()) {
    for (const kernels::Architecture& a : family_of(family.name)->architectures) {
      if (a.arch == device.arch) return std::move(family);
    }
  }
  throw std::runtime_error(
      fmt::format("no record is for compute capability {}.{}", device.arch / 10, device.arch % 10));
}

Bytes run_cuda(const Family& family, const KernelCase& k, const CaseData& data,
               const std::shared_ptr<Device>& memory) {
  const Problem& problem = data.source.problem;
  const DeviceSpec device = cuda_device(0);
  plan::Plan plan;
  plan.backend = "cuda";
  plan.family = family_of(family.name);
  plan.config = family.config(k, problem, device);
  const auto kernel = backends::cuda_backend().build(problem, plan, device, {});
  Instance instance(data, memory);
  kernel->launch(instance.operands());
  Bytes first = instance.output();
  instance.reset_output();
  kernel->launch(instance.operands());
  if (instance.output() != first) throw std::runtime_error("the second run differs");
  return first;
}

int run(std::vector<std::string> arguments) {
  const Family family = family_for(cuda_device(0));
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    if (arguments[i - 1] == "--compare" && std::filesystem::is_directory(arguments[i]))
      arguments[i] = fmt::format("{}/{}", arguments[i], family.record);
  }
  fmt::print("kernels of {}\n", family.name);
  const auto memory = aligned(cuda_memory(0));
  return bit_program(arguments, family.kernels, [&](const KernelCase& k, const CaseData& data) {
    return run_cuda(family, k, data, memory);
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (cuda_device_count() == 0) return fmt::print("no CUDA device\n"), 77;
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return fmt::print("{}\n", error.what()), 1;
  }
}
