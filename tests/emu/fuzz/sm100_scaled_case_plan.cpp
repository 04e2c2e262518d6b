// Cases for SM 10.0 kernels are those of an SM 9.0 kernel that is alike in all that a case depends
// on.
#include <vector>

#include "emu/fuzz/scaled_case.hpp"
#include "emu/fuzz/scaled_plan.hpp"
#include "emu/kernels/sm100_scaled_kernel_list.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "support/planned/emulated_device.hpp"

namespace wgrad::test {
namespace {

shared::ScaledConfig alike(const shared::sm100_scaled::Config& c) {
  shared::ScaledConfig out;
  out.element_a = c.element_a;
  out.element_b = c.element_b;
  out.raw_a = c.a;
  out.raw_b = c.b;
  out.scale = c.scale;
  out.vec_size = c.vec_size;
  out.storage = c.storage;
  out.global_scale = c.global_scale;
  out.output = c.output;
  out.output_mode = c.output_mode;
  out.accumulate = c.accumulate;
  return out;
}

}  // namespace

const std::vector<kernels::sm90_scaled::CompiledKernel>& scaled_kernels() {
  static const std::vector<kernels::sm90_scaled::CompiledKernel> kAll = [] {
    std::vector<kernels::sm90_scaled::CompiledKernel> out;
    for (const auto& kernel : sm100_scaled_kernels())
      out.push_back({alike(kernel.config), kernel.run});
    return out;
  }();
  return kAll;
}

plan::Plan scaled_plan(std::size_t index, const Problem& problem, int sms) {
  return plan_of_family("sm100_scaled",
                        kernels::sm100_scaled::launch_values(sm100_scaled_kernels()[index].config,
                                                             problem, emulated_sm100(sms)));
}

bool zeros_have_exponents() {
  return true;
}

}  // namespace wgrad::test
