#include "kernels/sm90_scaled/image.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/call_parameters.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/sm90_scaled/tensor_map.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using shared::KernelParams;
using shared::ScaledParams;

void set_scales(ScaledParams& k, const Operands& o) {
  k.sfa = address(o.sfa);
  k.sfb = address(o.sfb);
  k.sfa_cols = o.sfa_cols;
  k.sfb_cols = o.sfb_cols;
  k.global_a = address(o.global_scale_a);
  k.global_b = address(o.global_scale_b);
}

/// Elements between rows as a tensor map takes them: whole units, where it takes them at all.
std::int64_t map_ld(std::int64_t ld, shared::ElementType t) {
  return round_up(std::max<std::int64_t>(ld, 1), std::int64_t{128} / shared::element_bits(t));
}

}  // namespace

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  const auto& config = plan.config.as<LaunchConfig>();
  const shared::ScaledConfig& c = config.kernel;
  ScaledParams k = {};
  set_call(k, p, o);
  set_scales(k, o);
  k.raster_m = config.raster_m;
  k.ld_a = validate::view_a(p, o).ld;
  k.ld_b = validate::view_b(p, o).ld;
  k.rows_a = shared::takes_rows(c.element_a, k.ld_a) ? 0 : 1;
  k.rows_b = shared::takes_rows(c.element_b, k.ld_b) ? 0 : 1;
  LaunchImage image;
  image.grid = static_cast<std::uint32_t>(config.grid);
  image.block = static_cast<std::uint32_t>(shared::threads_per_cta(c));
  image.shared_bytes = static_cast<std::uint32_t>(config.smem_bytes);
  image.overlaps = config.overlaps;
  image.set_parameters(k);
  // Without tokens A and B may be null; their maps, which no load will use, then point at the
  // output.
  const bool tokens = o.tokens > 0;
  image.add_map(offsetof(KernelParams, map_a),
                shared::a_map(c, p.m, o.tokens, map_ld(k.ld_a, c.element_a)),
                tokens ? k.a : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_b),
                shared::b_map(c, p.n, o.tokens, map_ld(k.ld_b, c.element_b)),
                tokens ? k.b : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_out), shared::output_map(c, p.m, p.n, k.row_pitch_bytes),
                k.out_map_base);
  image.fault_at = offsetof(KernelParams, fault);
  image.claims_at = offsetof(KernelParams, claims);
  return image;
}

}  // namespace wgrad::kernels::sm90_scaled
