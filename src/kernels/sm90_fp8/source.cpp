#include "kernels/sm90_fp8/source.hpp"

#include <fmt/format.h>

#include "core/field_text.hpp"
#include "kernels/sm90/source.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "wgrad/sm90_fp8/params.hpp"
#include "wgrad/sm90_fp8/smem.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

using shared::Fp8Config;

/// Designated initialisers do not reach into a base class.
std::string made(const Fp8Config& c) {
  std::string fields;
  Fp8Config::visit_fields([&](auto field) {
    fields += fmt::format("  c.{} = {};\n", field.name, core::value_text(c.*field.member));
  });
  return fmt::format(
      "constexpr Fp8Config made() {{\n  Fp8Config c;\n{}  return c;\n}}\n"
      "constexpr Fp8Config kConfig = made();\n",
      fields);
}

}  // namespace

KernelSource source(const Fp8Config& c) {
  return sm90::unit({.kernel = "sm90_fp8",
                     .shape = fmt::format("{}x{}x{} cluster {} {}", c.tile_m, c.tile_n, c.tile_k,
                                          c.cluster_m, c.promote ? "promoted" : "in place"),
                     .config_text = made(c),
                     .parameters = "Fp8Params",
                     .parameter_bytes = sizeof(shared::Fp8Params),
                     .shared_bytes = shared::smem_table(c).total,
                     .threads = shared::threads_per_cta(c)});
}

KernelSource source_of(const plan::Plan& plan) {
  return source(plan.config.as<LaunchConfig>().kernel);
}

}  // namespace wgrad::kernels::sm90_fp8
