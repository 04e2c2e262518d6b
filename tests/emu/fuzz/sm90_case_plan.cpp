#include "emu/fuzz/kernel_plan.hpp"
#include "emu/kernels/kernel_list.hpp"

namespace wgrad::test {

std::optional<plan::Plan> case_plan(const KernelCase& c, const Problem& problem) {
  const shared::Config& config = kernels()[c.kernel].config;
  if (!kernels::sm90::computes(config, problem)) return std::nullopt;
  return plan_of(config, problem, c.sms, c.raster_m, {c.parts, c.sets});
}

}  // namespace wgrad::test
