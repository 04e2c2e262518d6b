#include "kernels/sm90_scaled/limits.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/limits.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/emulated/kernels.hpp"
#include "validate/operand_rules.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using Reasons = std::vector<Reason>;
using sm90::refuse;

constexpr std::int64_t kUnit = shared::kCopyUnit;

/// Rows of an MN-major operand are copied in whole units of 16 bytes.
void check_width(Reasons& out, const char* field, Major major, std::int64_t extent) {
  if (major != Major::kMn || extent % kUnit == 0) return;
  refuse(out, "row-alignment", field, fmt::format("{}", extent),
         "a multiple of 16 for an MN-major FP8 operand on SM 9.0");
}

void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto allowed = allowed_configs(p);
  if (allowed.empty()) {
    const Tiling& t = p.tiling;
    const std::string cluster =
        t.cluster_m == 0 ? "not given" : fmt::format("({}, {})", t.cluster_m, t.cluster_n);
    refuse(out, "scaled-cluster", "cluster_shape_mn",
           fmt::format("{} with mma_tiler_mn ({}, {})", cluster, t.tile_m, t.tile_n),
           "(1, 1) with M 128, or left to wgrad, for a block-scaled format on SM 9.0");
  } else if (sm90::usable_sms(device) < 1) {
    refuse(out, "sm-count", "sm_count", fmt::format("{}", sm90::usable_sms(device)), "at least 1");
  } else if (smem_bytes(allowed.back()) > device.smem_bytes) {
    refuse(out, "shared-memory", "shared memory of a CTA",
           fmt::format("{} bytes on {}", device.smem_bytes, device.name),
           fmt::format("at least {} bytes for the SM 9.0 kernel", smem_bytes(allowed.back())));
  } else {
    refuse(out, "tile-limit", "num_experts",
           fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
           fmt::format("such that there are at most {} output tiles on SM 9.0", sm90::kMaxTiles));
  }
}

void check_ld(Reasons& out, const char* field, Major major, const validate::OperandView& v) {
  if (!v.ld_matters) return;
  const std::int64_t most = major == Major::kMn ? sm90::kMaxMnPitchBytes : sm90::kMaxPitchBytes;
  if (v.ld > most) {
    out.push_back(
        {"pitch-limit", field, fmt::format("{}", v.ld), fmt::format("at most {} on SM 9.0", most)});
  } else if (major == Major::kMn && v.ld % kUnit != 0) {
    out.push_back({"row-alignment", field, fmt::format("{}", v.ld),
                   "a multiple of 16 for an MN-major FP8 operand on SM 9.0"});
  }
}

void check_scales(Reasons& out, const char* field, const Problem& p, const void* scales) {
  if (p.scales->layout == ScaleLayout::kCompact) return;
  if (reinterpret_cast<std::uintptr_t>(scales) % std::uintptr_t{kUnit} == 0) return;
  out.push_back({"pointer-alignment", field, fmt::format("at address {}", fmt::ptr(scales)),
                 "aligned to 16 bytes, with swizzled scale factors on SM 9.0"});
}

}  // namespace

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  sm90::check_sizes(out, p);
  check_width(out, "m", p.a_major, p.m);
  check_width(out, "n", p.b_major, p.n);
  sm90::check_pitch(out, p);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    sm90::refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  sm90::check_tokens(out, p, o.tokens, ReasonKind::kBadArgument);
  check_ld(out, "a_ld", p.a_major, validate::view_a(p, o));
  check_ld(out, "b_ld", p.b_major, validate::view_b(p, o));
  check_scales(out, "sfa", p, o.sfa);
  check_scales(out, "sfb", p, o.sfb);
}

}  // namespace wgrad::kernels::sm90_scaled
