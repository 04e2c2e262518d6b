#include "emu/fuzz/scaled_case.hpp"
#include "emu/fuzz/scaled_plan.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "support/planned/emulated_device.hpp"

namespace wgrad::test {

plan::Plan scaled_plan(std::size_t index, const Problem& problem, int sms) {
  return plan_of_family("sm90_scaled",
                        kernels::sm90_scaled::launch_values(scaled_kernels()[index].config, problem,
                                                            emulated_sm90(sms)));
}

bool zeros_have_exponents() {
  return false;
}

}  // namespace wgrad::test
