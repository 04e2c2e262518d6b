#include "kernels/sm100/source.hpp"

#include <fmt/format.h>

#include "core/field_text.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm90/source.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::kernels::sm100 {

KernelSource source(const Config& c, int arch) {
  return sm90::unit({.kernel = "sm100",
                     .shape = fmt::format("{}x{}x{}", c.tile_m, c.tile_n, c.tile_k),
                     .config_text = fmt::format("constexpr sm100::Config kConfig{{\n{}}};\n",
                                                core::field_text(c, "    ", 100)),
                     .parameters = "KernelParams",
                     .parameter_bytes = sizeof(shared::KernelParams),
                     .shared_bytes = smem_table(c).total,
                     .threads = threads_per_cta(c),
                     .arch = arch});
}

KernelSource source_of(const plan::Plan& plan) {
  const auto& config = plan.config.as<LaunchConfig>();
  return source(config.kernel, config.arch);
}

}  // namespace wgrad::kernels::sm100
