#include "kernels/sm90_scaled/limits.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
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
void check_width(Reasons& out, const char* field, Major major, std::int64_t extent,
                 std::string_view chip) {
  if (major != Major::kMn || extent % kUnit == 0) return;
  refuse(out, "row-alignment", field, fmt::format("{}", extent),
         fmt::format("a multiple of 16 for an MN-major FP8 operand on {}", chip));
}

void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto allowed = allowed_configs(p);
  if (!allowed.empty())
    return refuse_placement(out, p, device, smem_bytes(allowed.back()), sm90::kChip);
  const Tiling& t = p.tiling;
  const std::string cluster =
      t.cluster_m == 0 ? "not given" : fmt::format("({}, {})", t.cluster_m, t.cluster_n);
  refuse(out, "scaled-cluster", "cluster_shape_mn",
         fmt::format("{} with mma_tiler_mn ({}, {})", cluster, t.tile_m, t.tile_n),
         "(1, 1) with M 128, or left to wgrad, for a block-scaled format on SM 9.0");
}

void check_ld(Reasons& out, const char* field, Major major, const validate::OperandView& v,
              std::string_view chip) {
  if (!v.ld_matters) return;
  const std::int64_t most = major == Major::kMn ? sm90::kMaxMnPitchBytes : sm90::kMaxPitchBytes;
  if (v.ld > most) {
    out.push_back({"pitch-limit", field, fmt::format("{}", v.ld),
                   fmt::format("at most {} on {}", most, chip)});
  } else if (major == Major::kMn && v.ld % kUnit != 0) {
    out.push_back({"row-alignment", field, fmt::format("{}", v.ld),
                   fmt::format("a multiple of 16 for an MN-major FP8 operand on {}", chip)});
  }
}

void check_scales(Reasons& out, const char* field, const Problem& p, const void* scales,
                  std::string_view chip) {
  if (p.scales->layout == ScaleLayout::kCompact) return;
  if (reinterpret_cast<std::uintptr_t>(scales) % std::uintptr_t{kUnit} == 0) return;
  out.push_back({"pointer-alignment", field, fmt::format("at address {}", fmt::ptr(scales)),
                 fmt::format("aligned to 16 bytes, with swizzled scale factors on {}", chip)});
}

}  // namespace

void check_extents(Reasons& out, const Problem& p, std::string_view chip) {
  sm90::check_sizes(out, p, chip);
  check_width(out, "m", p.a_major, p.m, chip);
  check_width(out, "n", p.b_major, p.n, chip);
  sm90::check_pitch(out, p, chip);
}

void refuse_placement(Reasons& out, const Problem& p, const DeviceSpec& device, std::int64_t smem,
                      std::string_view chip) {
  if (sm90::usable_sms(device) < 1) {
    refuse(out, "sm-count", "sm_count", fmt::format("{}", sm90::usable_sms(device)), "at least 1");
  } else if (smem > device.smem_bytes) {
    refuse(out, "shared-memory", "shared memory of a CTA",
           fmt::format("{} bytes on {}", device.smem_bytes, device.name),
           fmt::format("at least {} bytes for the {} kernel", smem, chip));
  } else {
    refuse(out, "tile-limit", "num_experts",
           fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
           fmt::format("such that there are at most {} output tiles on {}", sm90::kMaxTiles, chip));
  }
}

void check_call(Reasons& out, const Problem& p, const Operands& o, std::string_view chip) {
  sm90::check_tokens(out, p, o.tokens, ReasonKind::kBadArgument, chip);
  check_ld(out, "a_ld", p.a_major, validate::view_a(p, o), chip);
  check_ld(out, "b_ld", p.b_major, validate::view_b(p, o), chip);
  check_scales(out, "sfa", p, o.sfa, chip);
  check_scales(out, "sfb", p, o.sfb, chip);
}

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  check_extents(out, p, sm90::kChip);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    sm90::refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  check_call(out, p, o, sm90::kChip);
}

}  // namespace wgrad::kernels::sm90_scaled
