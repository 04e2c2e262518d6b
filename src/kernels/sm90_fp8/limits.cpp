#include "kernels/sm90_fp8/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/limits.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/emulated/kernels.hpp"
#include "validate/operand_rules.hpp"

namespace wgrad::kernels::sm90_fp8 {
namespace {

using Reasons = std::vector<Reason>;

/// Of configurations that the tiling arguments allow, the one that asks for the least.
void refuse_all(Reasons& out, const std::vector<shared::Fp8Config>& allowed, const Problem& p,
                const DeviceSpec& device) {
  std::int64_t bytes = smem_bytes(allowed.front());
  for (const auto& c : allowed) bytes = std::min(bytes, smem_bytes(c));
  if (bytes > device.smem_bytes) {
    sm90::refuse(out, "shared-memory", "shared memory of a CTA",
                 fmt::format("{} bytes on {}", device.smem_bytes, device.name),
                 fmt::format("at least {} bytes for the SM 9.0 kernel that multiplies FP8", bytes));
  } else if (sm90::usable_sms(device) < allowed.front().cluster_m) {
    sm90::refuse(out, "sm-count", "sm_count", fmt::format("{}", sm90::usable_sms(device)),
                 fmt::format("at least {}", allowed.front().cluster_m));
  } else {
    sm90::refuse(out, "tile-limit", "num_experts",
                 fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
                 fmt::format("such that no more than {} output tiles are needed", sm90::kMaxTiles));
  }
}

void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto allowed = allowed_configs(p);
  if (!allowed.empty()) return refuse_all(out, allowed, p, device);
  const Tiling& t = p.tiling;
  sm90::refuse(out, "cluster", "cluster_shape_mn",
               fmt::format("({}, {}) with mma_tiler_mn ({}, {})", t.cluster_m, t.cluster_n,
                           t.tile_m, t.tile_n),
               "(1, 1) or (2, 1), or left to wgrad, for FP8 rowwise on SM 9.0");
}

void check_ld(Reasons& out, const char* field, const validate::OperandView& v) {
  if (!v.ld_matters || v.ld <= sm90::kMaxPitchBytes) return;
  out.push_back({"pitch-limit", field, fmt::format("{}", v.ld),
                 fmt::format("at most {} on SM 9.0", sm90::kMaxPitchBytes)});
}

}  // namespace

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  if (!scales_whole_rows(p)) {
    sm90::refuse(out, "format", "sf_vec_size", "128",
                 "left out, for one scale factor a row and expert: SM 9.0 has no kernel for FP8 "
                 "1x128 yet");
    return out;
  }
  sm90::check_sizes(out, p);
  sm90::check_pitch(out, p);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    sm90::refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  sm90::check_tokens(out, p, o.tokens, ReasonKind::kBadArgument);
  check_ld(out, "a_ld", validate::view_a(p, o));
  check_ld(out, "b_ld", validate::view_b(p, o));
}

}  // namespace wgrad::kernels::sm90_fp8
