#include "kernels/sm100_scaled/source.hpp"

#include <fmt/format.h>

#include "core/field_text.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm90/source.hpp"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::kernels::sm100_scaled {

KernelSource source(const Config& c, int arch) {
  const std::string fields = core::field_text(c, "    ", 100);
  return sm90::unit(
      {.kernel = "sm100_scaled",
       .shape = fmt::format("{}x{}x{} {} bits", c.tile_m, c.tile_n, c.tile_k, bits_of(c.input)),
       .config_text = fmt::format("constexpr sm100_scaled::Config kConfig{{\n{}}};\n", fields),
       .parameters = "ScaledParams",
       .parameter_bytes = sizeof(shared::ScaledParams),
       .shared_bytes = smem_table(c).total,
       .threads = threads_per_cta(c),
       .arch = arch});
}

KernelSource source_of(const plan::Plan& plan) {
  const auto& config = plan.config.as<LaunchConfig>();
  return source(config.kernel, config.arch);
}

}  // namespace wgrad::kernels::sm100_scaled
