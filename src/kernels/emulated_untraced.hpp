// What a family none of whose kernels is traced has on the emulated machine.
#pragma once

#include <vector>

#include "emu/memory/shared_regions.hpp"
#include "kernels/emulated.hpp"

namespace wgrad::kernels {

/// Its plans hold a `Launch`; `kAll()` are its compiled kernels.
template <typename Launch, auto kAll>
const EmulatedFamily* untraced_family() {
  static constexpr EmulatedFamily kFamily = {
      .kernel =
          [](const plan::Plan& plan) { return kernel_of(kAll(), plan.config.as<Launch>().kernel); },
      .shared_regions =
          [](const plan::Plan& plan) {
            return emu::shared_regions(smem_table(plan.config.as<Launch>().kernel));
          },
      .record_engines = [](const plan::Plan&, const std::vector<emu::EngineSpan>&, void*) {}};
  return &kFamily;
}

}  // namespace wgrad::kernels
