#include "emu/kernel_list.hpp"
#include "emu/kernel_plan.hpp"

namespace wgrad::test {

std::optional<plan::Plan> case_plan(std::size_t kernel, const Problem& problem, int sms,
                                    int raster_m) {
  const shared::Config& config = kernels()[kernel].config;
  if (!kernels::sm90::computes(config, problem)) return std::nullopt;
  return plan_of(config, problem, sms, raster_m);
}

}  // namespace wgrad::test
