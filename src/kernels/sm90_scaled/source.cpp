#include "kernels/sm90_scaled/source.hpp"

#include <fmt/format.h>

#include "core/field_text.hpp"
#include "kernels/sm90/source.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using shared::ScaledConfig;

/// Designated initialisers do not reach into a base class.
std::string config_text(const ScaledConfig& c) {
  std::string out = "constexpr ScaledConfig made() {\n  ScaledConfig c;\n";
  ScaledConfig::visit_fields([&](auto field) {
    out += fmt::format("  c.{} = {};\n", field.name, core::value_text(c.*field.member));
  });
  return out + "  return c;\n}\nconstexpr ScaledConfig kConfig = made();\n";
}

}  // namespace

KernelSource source(const ScaledConfig& c) {
  return sm90::unit({.kernel = "sm90_scaled",
                     .shape = fmt::format("{}x{}x{} {} bits", c.tile_m, c.tile_n, c.tile_k,
                                          shared::element_bits(c.element_a)),
                     .config_text = config_text(c),
                     .parameters = "ScaledParams",
                     .parameter_bytes = sizeof(shared::ScaledParams),
                     .shared_bytes = shared::smem_table(c).total,
                     .threads = shared::threads_per_cta(c)});
}

KernelSource source_of(const plan::Plan& plan) {
  return source(plan.config.as<LaunchConfig>().kernel);
}

}  // namespace wgrad::kernels::sm90_scaled
