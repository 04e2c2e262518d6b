#include "kernels/sm90_fp8/image.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/call_parameters.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/sm90_fp8/params.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

/// Of a row, in elements, as a tensor map takes it: the operand's own where it matters.
std::int64_t map_ld(const validate::OperandView& view) {
  return view.ld_matters ? view.ld : round_up(std::max<std::int64_t>(view.width, 1), 16);
}

}  // namespace

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  using shared::Fp8Params;
  const auto& config = plan.config.as<LaunchConfig>();
  const shared::Fp8Config& c = config.kernel;
  const std::int64_t ld_a = map_ld(validate::view_a(p, o)), ld_b = map_ld(validate::view_b(p, o));
  Fp8Params k = {};
  set_call(k, p, o);
  k.raster_m = config.raster_m;
  k.token_alignment = shared::operands_alignment(c, k.a, ld_a, k.b, ld_b);
  k.scales_a = address(o.sfa);
  k.scales_b = address(o.sfb);
  LaunchImage image;
  image.grid = static_cast<std::uint32_t>(config.grid);
  image.cluster = static_cast<std::uint32_t>(shared::cluster_ctas(c));
  image.block = static_cast<std::uint32_t>(shared::threads_per_cta(c));
  image.shared_bytes = static_cast<std::uint32_t>(config.smem_bytes);
  image.overlaps = config.overlaps;
  image.set_parameters(k);
  // Without tokens A and B may be null: no load will use their maps.
  const std::uint64_t a = o.tokens > 0 ? k.a : k.out_map_base;
  const std::uint64_t b = o.tokens > 0 ? k.b : k.out_map_base;
  image.add_map(offsetof(shared::KernelParams, map_a), shared::a_map(c, p.m, o.tokens, ld_a), a);
  image.add_map(offsetof(shared::KernelParams, map_b), shared::b_map(c, p.n, o.tokens, ld_b), b);
  image.add_map(offsetof(shared::KernelParams, map_out),
                shared::output_map(c, p.m, p.n, k.row_pitch_bytes), k.out_map_base);
  image.fault_at = offsetof(shared::KernelParams, fault);
  if (shared::claims_tiles(c)) image.claims_at = offsetof(shared::KernelParams, claims);
  return image;
}

}  // namespace wgrad::kernels::sm90_fp8
