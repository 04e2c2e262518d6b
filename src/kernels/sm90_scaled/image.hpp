// One launch of a kernel for block-scaled operands: parameters, tensor maps, grid.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/call_parameters.hpp"
#include "kernels/launch_image.hpp"
#include "plan/plan.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/scaled_params.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::kernels::sm90_scaled {

/// Scale factors, and elements between rows.
void set_scaled_call(shared::ScaledParams& parameters, const Problem& problem,
                     const Operands& operands);
/// Elements between rows as a tensor map takes them: whole units, where it takes them at all.
std::int64_t map_ld(std::int64_t ld, shared::ElementType type);

/// Of a kernel of any family, whose plans hold a `Launch`.
template <typename Launch>
LaunchImage image_of(const Problem& p, const plan::Plan& plan, const Operands& o) {
  using shared::KernelParams;
  const auto& config = plan.config.as<Launch>();
  const auto& c = config.kernel;
  shared::ScaledParams k = {};
  set_call(k, p, o);
  set_scaled_call(k, p, o);
  k.raster_m = config.raster_m;
  k.rows_a = shared::takes_rows(c.element_a, k.ld_a) ? 0 : 1;
  k.rows_b = shared::takes_rows(c.element_b, k.ld_b) ? 0 : 1;
  LaunchImage image;
  image.grid = static_cast<std::uint32_t>(config.grid);
  image.block = static_cast<std::uint32_t>(threads_per_cta(c));
  image.shared_bytes = static_cast<std::uint32_t>(config.smem_bytes);
  image.overlaps = config.overlaps;
  image.set_parameters(k);
  // Without tokens A and B may be null; their maps, which no load will use, then point at the
  // output.
  const bool tokens = o.tokens > 0;
  image.add_map(offsetof(KernelParams, map_a), a_map(c, p.m, o.tokens, map_ld(k.ld_a, c.element_a)),
                tokens ? k.a : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_b), b_map(c, p.n, o.tokens, map_ld(k.ld_b, c.element_b)),
                tokens ? k.b : k.out_map_base);
  image.add_map(offsetof(KernelParams, map_out), shared::output_map(c, p.m, p.n, k.row_pitch_bytes),
                k.out_map_base);
  image.fault_at = offsetof(KernelParams, fault);
  image.claims_at = offsetof(KernelParams, claims);
  return image;
}

/// KernelFamily::image.
LaunchImage image(const Problem& problem, const plan::Plan& plan, const Operands& operands);

}  // namespace wgrad::kernels::sm90_scaled
