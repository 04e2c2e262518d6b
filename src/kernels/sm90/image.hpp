// One launch of the SM90 kernel: parameters, tensor maps, grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/call_parameters.hpp"
#include "kernels/launch_image.hpp"
#include "kernels/sm90/config.hpp"
#include "plan/plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::kernels::sm90 {

/// Elements between rows for a tensor map: the operand's own where it matters, else the least that
/// a map can hold.
std::int64_t map_ld_a(const Problem& problem, const Operands& operands);
std::int64_t map_ld_b(const Problem& problem, const Operands& operands);

/// Where a region of the workspace begins; any address where the plan has none.
std::uint64_t region_address(const plan::Plan& plan, const Operands& operands,
                             std::string_view name);

/// The launch of a kernel for 16-bit operands of any family, whose plans hold a `Launch`.
template <typename Launch>
LaunchImage image_of(const Problem& p, const plan::Plan& plan, const Operands& o) {
  using shared::KernelParams;
  const auto& config = plan.config.as<Launch>();
  const auto& c = config.kernel;
  const std::int64_t ld_a = map_ld_a(p, o), ld_b = map_ld_b(p, o);
  KernelParams k = {};
  set_call(k, p, o);
  k.raster_m = config.raster_m;
  k.trace = region_address(plan, o, "trace");
  if constexpr (requires { config.token_split; }) {
    k.token_split = config.token_split;
    k.partial_sums = region_address(plan, o, kPartialSums);
  }
  k.token_alignment = shared::operands_alignment(c, k.a, ld_a, k.b, ld_b);
  LaunchImage image;
  image.grid = static_cast<std::uint32_t>(config.grid);
  image.cluster = static_cast<std::uint32_t>(shared::cluster_ctas(c));
  image.block = static_cast<std::uint32_t>(threads_per_cta(c));
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

/// KernelFamily::image.
LaunchImage image(const Problem& problem, const plan::Plan& plan, const Operands& operands);

}  // namespace wgrad::kernels::sm90
