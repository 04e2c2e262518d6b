#include "kernels/sm90/image.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/call_parameters.hpp"
#include "kernels/sm90/config.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::KernelParams;

constexpr std::int64_t kLdMultiple = 8;  // 16 bytes

std::int64_t map_ld(const validate::OperandView& view) {
  if (view.ld_matters) return view.ld;
  return round_up(std::max<std::int64_t>(view.width, 1), kLdMultiple);
}

/// Where a traced kernel writes; any address where the kernel is none.
std::uint64_t trace_address(const plan::Plan& plan, const Operands& o) {
  return address(o.workspace) +
         static_cast<std::uint64_t>(std::max<std::int64_t>(plan::region_offset(plan, "trace"), 0));
}

/// All but the maps and what the launcher adds.
KernelParams parameters(const Problem& p, const plan::Plan& plan, const Operands& o) {
  KernelParams k = {};
  set_call(k, p, o);
  k.raster_m = plan.config.as<LaunchConfig>().raster_m;
  k.trace = trace_address(plan, o);
  return k;
}

}  // namespace

std::int64_t map_ld_a(const Problem& p, const Operands& o) {
  return map_ld(validate::view_a(p, o));
}
std::int64_t map_ld_b(const Problem& p, const Operands& o) {
  return map_ld(validate::view_b(p, o));
}

LaunchImage image(const Problem& p, const plan::Plan& plan, const Operands& o) {
  const auto& config = plan.config.as<LaunchConfig>();
  const shared::Config& c = config.kernel;
  const std::int64_t ld_a = map_ld_a(p, o), ld_b = map_ld_b(p, o);
  KernelParams k = parameters(p, plan, o);
  k.token_alignment = shared::operands_alignment(c, k.a, ld_a, k.b, ld_b);
  LaunchImage image;
  image.grid = static_cast<std::uint32_t>(config.grid);
  image.cluster = static_cast<std::uint32_t>(shared::cluster_ctas(c));
  image.block = static_cast<std::uint32_t>(shared::threads_per_cta(c));
  image.shared_bytes = static_cast<std::uint32_t>(config.smem_bytes);
  image.overlaps = config.overlaps;  // common/setup.cuh waits
  image.set_parameters(k);
  // Without tokens A and B may be null; their maps, which no load will use, then point at the
  // output.
  const bool tokens = o.tokens > 0;
  image.add_map(offsetof(KernelParams, map_a), shared::a_map(c, p.m, o.tokens, ld_a),
                tokens ? k.a : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_b), shared::b_map(c, p.n, o.tokens, ld_b),
                tokens ? k.b : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_out), shared::output_map(c, p.m, p.n, k.row_pitch_bytes),
                k.out_map_base);
  image.fault_at = offsetof(KernelParams, fault);
  if (shared::claims_tiles(c)) image.claims_at = offsetof(KernelParams, claims);
  return image;
}

}  // namespace wgrad::kernels::sm90
