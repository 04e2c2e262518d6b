#include "kernels/sm100/limits.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "kernels/sm100/config.hpp"
#include "kernels/sm100/emulated/kernels.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/limits.hpp"

namespace wgrad::kernels::sm100 {
namespace {

using Reasons = std::vector<Reason>;
using sm90::refuse;

constexpr std::string_view kChip = "SM 10.0";

void check_tiling(Reasons& out, const Problem& p) {
  const Tiling& t = p.tiling;
  const std::string cluster =
      t.cluster_m == 0 ? "not given" : fmt::format("({}, {})", t.cluster_m, t.cluster_n);
  refuse(out, "cluster", "cluster_shape_mn",
         fmt::format("{} with mma_tiler_mn ({}, {})", cluster, t.tile_m, t.tile_n),
         "(1, 1) with M 128, (2, 1) with M 256 (an MN-major B: and N 128 or 256), or left to "
         "wgrad, on "
         "SM 10.0");
}

/// Some configuration that the tiling arguments allow must fit.
void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto allowed = allowed_configs(p);
  if (allowed.empty()) return check_tiling(out, p);
  if (sm90::usable_sms(device) < shared::cluster_ctas(allowed.back())) {
    refuse(out, "sm-count", "sm_count", fmt::format("{}", sm90::usable_sms(device)),
           fmt::format("at least {}", shared::cluster_ctas(allowed.back())));
  } else if (smem_bytes(allowed.back()) > device.smem_bytes) {
    refuse(out, "shared-memory", "shared memory of a CTA",
           fmt::format("{} bytes on {}", device.smem_bytes, device.name),
           fmt::format("at least {} bytes for the SM 10.0 kernel", smem_bytes(allowed.back())));
  } else {
    refuse(
        out, "tile-limit", "num_experts",
        fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
        fmt::format("such that there are at most {} output tiles on {}", sm90::kMaxTiles, kChip));
  }
}

}  // namespace

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  sm90::check_sizes(out, p, kChip);
  sm90::check_pitch(out, p, kChip);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    sm90::refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  sm90::check_call(out, p, o, kChip);
}

}  // namespace wgrad::kernels::sm100
