#include "kernels/sm100_scaled/limits.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/emulated/kernels.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/limits.hpp"
#include "kernels/sm90_scaled/limits.hpp"

namespace wgrad::kernels::sm100_scaled {
namespace {

using sm90::refuse;

constexpr std::string_view kChip = "SM 10.0";

void refuse_tiling(std::vector<Reason>& out, const Tiling& t) {
  const std::string cluster =
      t.cluster_m == 0 ? "not given" : fmt::format("({}, {})", t.cluster_m, t.cluster_n);
  refuse(out, "scaled-cluster", "cluster_shape_mn",
         fmt::format("{} with mma_tiler_mn ({}, {})", cluster, t.tile_m, t.tile_n),
         "(1, 1) with M 128 and N 128 or 256, or left to wgrad, for a block-scaled format on SM "
         "10.0");
}

/// Some configuration that the tiling arguments allow must fit.
void check_configs(std::vector<Reason>& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto allowed = allowed_configs(p);
  if (allowed.empty()) return refuse_tiling(out, p.tiling);
  sm90_scaled::refuse_placement(out, p, device, smem_bytes(allowed.back()), kChip);
}

}  // namespace

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  std::vector<Reason> out;
  sm90_scaled::check_extents(out, p, kChip);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    sm90::refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  sm90_scaled::check_call(out, p, o, kChip);
}

}  // namespace wgrad::kernels::sm100_scaled
