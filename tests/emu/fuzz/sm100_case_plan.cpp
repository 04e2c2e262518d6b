// Cases for SM 10.0 kernels are those of an SM 9.0 kernel that is alike in all that a case depends
// on.
#include <vector>

#include "emu/fuzz/kernel_plan.hpp"
#include "emu/kernels/kernel_list.hpp"
#include "emu/kernels/sm100_case_config.hpp"
#include "emu/kernels/sm100_kernel_list.hpp"
#include "kernels/sm100/config.hpp"

namespace wgrad::test {
const std::vector<kernels::sm90::CompiledKernel>& kernels() {
  static const std::vector<kernels::sm90::CompiledKernel> kAll = [] {
    std::vector<kernels::sm90::CompiledKernel> out;
    for (const auto& kernel : sm100_kernels())
      out.push_back({case_config(kernel.config), kernel.run});
    return out;
  }();
  return kAll;
}

std::optional<plan::Plan> case_plan(const KernelCase& c, const Problem& problem) {
  const shared::sm100::Config& config = sm100_kernels()[c.kernel].config;
  if (!kernels::sm100::computes(config, problem)) return std::nullopt;
  const auto launch = kernels::sm100::launch_values(config, problem, emulated_sm100(c.sms));
  return emulated_plan("sm100", launch, c.raster_m);
}

}  // namespace wgrad::test
