#include "kernels/sm90/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/emulated/kernels.hpp"
#include "kernels/sm90/image.hpp"

namespace wgrad::kernels::sm90 {
namespace {

void check_extent(std::vector<Reason>& out, const char* name, std::int64_t extent, ReasonKind kind,
                  std::string_view chip) {
  if (extent <= kMaxExtent) return;
  out.push_back({"extent-limit", name, fmt::format("{}", extent),
                 fmt::format("at most {} on {}", kMaxExtent, chip), kind});
}

}  // namespace

void refuse(std::vector<Reason>& out, const char* rule, const char* field, std::string got,
            std::string need) {
  out.push_back({rule, field, std::move(got), std::move(need), ReasonKind::kMissingCapability});
}

void check_tokens(std::vector<Reason>& out, const Problem& p, std::int64_t tokens, ReasonKind kind,
                  std::string_view chip) {
  const bool ragged_map = p.a_major == Major::kMn || p.b_major == Major::kMn;
  if (!ragged_map) return check_extent(out, "tokens", tokens, kind, chip);
  if (tokens <= kMaxTokens) return;
  out.push_back({"token-limit", "tokens", fmt::format("{}", tokens),
                 fmt::format("at most {} for an MN-major operand on {}", kMaxTokens, chip), kind});
}

void check_sizes(std::vector<Reason>& out, const Problem& p, std::string_view chip) {
  constexpr ReasonKind kKind = ReasonKind::kMissingCapability;
  check_tokens(out, p, p.tokens, kKind, chip);
  check_extent(out, "m", p.m, kKind, chip);
  check_extent(out, "n", p.n, kKind, chip);
}

void check_pitch(std::vector<Reason>& out, const Problem& p, std::string_view chip) {
  const std::int64_t pitch = row_pitch(p) * bits(p.wgrad_dtype) / 8;
  if (pitch > kMaxPitchBytes) {
    refuse(out, "pitch-limit", "wgrad row pitch", fmt::format("{} bytes", pitch),
           fmt::format("at most {} bytes on {}", kMaxPitchBytes, chip));
  }
}

void refuse_uncompiled(std::vector<Reason>& out, std::size_t compiled) {
  refuse(out, "emu-kernel", "problem", "a combination of types, majors and modes",
         fmt::format("one of the {} that the emulator's kernels were compiled for", compiled));
}

namespace {

using Reasons = std::vector<Reason>;

constexpr std::int64_t kElementBytes = 2;

/// A ragged K-major operand takes no map.
bool takes_map(const Problem& p, Major major) {
  return major == Major::kMn || p.input_order == InputOrder::kTensor2d;
}

void check_ld(Reasons& out, const char* field, Major major, std::int64_t ld,
              std::string_view chip) {
  const std::int64_t most =
      (major == Major::kMn ? kMaxMnPitchBytes : kMaxPitchBytes) / kElementBytes;
  if (ld <= most) return;
  out.push_back(
      {"pitch-limit", field, fmt::format("{}", ld), fmt::format("at most {} on {}", most, chip)});
}

template <typename Measure>
std::int64_t least(const std::vector<shared::Config>& configs, Measure measure) {
  std::int64_t value = measure(configs.front());
  for (const shared::Config& c : configs) value = std::min(value, measure(c));
  return value;
}

void check_shared_memory(Reasons& out, const std::vector<shared::Config>& configs,
                         const DeviceSpec& device) {
  const std::int64_t need = least(configs, smem_bytes);
  if (need <= device.smem_bytes) return;
  refuse(out, "shared-memory", "shared memory of a CTA",
         fmt::format("{} bytes on {}", device.smem_bytes, device.name),
         fmt::format("at least {} bytes for the SM 9.0 kernel", need));
}

void check_tile_count(Reasons& out, const std::vector<shared::Config>& configs, const Problem& p) {
  const auto count = [&](const shared::Config& c) { return tile_count(c, p); };
  if (least(configs, count) <= kMaxTiles) return;
  refuse(out, "tile-limit", "num_experts",
         fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
         fmt::format("such that there are at most {} output tiles on SM 9.0", kMaxTiles));
}

std::string cluster_text(const Tiling& t) {
  return t.cluster_m == 0 ? "not given" : fmt::format("({}, {})", t.cluster_m, t.cluster_n);
}

/// Some configuration that the tiling arguments allow must fit.
void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  if (!fitting_configs(p, device).empty()) return;
  const auto configs = allowed_configs(p);
  if (!configs.empty()) {
    check_shared_memory(out, configs, device);
    check_tile_count(out, configs, p);
  }
  if (!out.empty()) return;
  refuse(out, "cluster", "cluster_shape_mn",
         fmt::format("{} with mma_tiler_mn ({}, {})", cluster_text(p.tiling), p.tiling.tile_m,
                     p.tiling.tile_n),
         fmt::format("{}(2, 1) with two SMs or more, on SM 9.0; a launch may use {}",
                     p.tiling.tile_m == 256 ? "" : "(1, 1), or ", usable_sms(device)));
}

}  // namespace

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  check_sizes(out, p);
  check_pitch(out, p);
  check_configs(out, p, device);
  if (out.empty() && offered_configs(p, device).empty())
    refuse_uncompiled(out, emulated_kernels().size());
  return out;
}

void check_call(std::vector<Reason>& out, const Problem& p, const Operands& o,
                std::string_view chip) {
  check_tokens(out, p, o.tokens, ReasonKind::kBadArgument, chip);
  if (takes_map(p, p.a_major)) check_ld(out, "a_ld", p.a_major, map_ld_a(p, o), chip);
  if (takes_map(p, p.b_major)) check_ld(out, "b_ld", p.b_major, map_ld_b(p, o), chip);
}

void check_operands(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  check_call(out, p, o, kChip);
}

}  // namespace wgrad::kernels::sm90
