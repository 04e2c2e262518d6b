#include "plan/sm90_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace wgrad::plan {
namespace {

using Reasons = std::vector<Reason>;

std::string arch_name(int arch) {
  return fmt::format("{}.{}", arch / 10, arch % 10);
}

void refuse(Reasons& out, const char* rule, const char* field, std::string got, std::string need) {
  out.push_back({rule, field, std::move(got), std::move(need), ReasonKind::kMissingCapability});
}

void check_device(Reasons& out, const DeviceSpec& device) {
  if (device.kind != DeviceKind::kCuda) {
    refuse(out, "device", "device", device.name.empty() ? "a CPU" : device.name,
           "a CUDA device for the cuda backend");
  } else if (device.arch != 90) {
    refuse(out, "arch", "compute capability", arch_name(device.arch),
           fmt::format("9.0 (Hopper): there is no kernel for SM {} yet", arch_name(device.arch)));
  } else if (device.sm_count < 1) {
    out.push_back({"sm-count", "sm_count", fmt::format("{}", device.sm_count), "at least 1"});
  }
}

std::string_view format_name(Format format) {
  switch (format) {
    case Format::kMxfp8:
      return "MXFP8";
    case Format::kMxfp4:
      return "MXFP4";
    case Format::kNvfp4:
      return "NVFP4";
    default:
      return "16-bit";
  }
}

void check_format(Reasons& out, const Problem& p) {
  const auto format = format_of(p);
  if (format == Format::kSixteenBit) return;
  refuse(out, "block-scaled", "format", std::string(format ? format_name(*format) : "unknown"),
         "bfloat16 or float16 on a CUDA device: there is no kernel for block-scaled formats yet");
}

void check_sizes(Reasons& out, const Problem& p) {
  const bool ragged_map = p.a_major == Major::kMn || p.b_major == Major::kMn;
  if (ragged_map && p.tokens > kSm90MaxTokens) {
    refuse(out, "token-limit", "tokens", fmt::format("{}", p.tokens),
           fmt::format("at most {} for an MN-major operand on SM 9.0", kSm90MaxTokens));
  }
  const std::int64_t pitch = row_pitch(p) * bits(p.wgrad_dtype) / 8;
  if (pitch > kSm90MaxPitchBytes) {
    refuse(out, "pitch-limit", "wgrad row pitch", fmt::format("{} bytes", pitch),
           fmt::format("at most {} bytes on SM 9.0", kSm90MaxPitchBytes));
  }
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
  if (least(configs, count) <= kSm90MaxTiles) return;
  refuse(out, "tile-limit", "num_experts",
         fmt::format("{} with {} x {} outputs", p.experts, p.m, p.n),
         fmt::format("such that there are at most {} output tiles on SM 9.0", kSm90MaxTiles));
}

/// Some configuration that the tiling arguments allow must fit.
void check_configs(Reasons& out, const Problem& p, const DeviceSpec& device) {
  const auto configs = allowed_configs(p);
  const auto fitting = [&](const shared::Config& c) { return fits(c, p, device); };
  if (std::any_of(configs.begin(), configs.end(), fitting)) return;
  if (!configs.empty()) {
    check_shared_memory(out, configs, device);
    check_tile_count(out, configs, p);
  }
  if (!out.empty()) return;
  refuse(out, "cluster", "cluster_shape_mn",
         fmt::format("({}, {}) with mma_tiler_mn ({}, {})", p.tiling.cluster_m, p.tiling.cluster_n,
                     p.tiling.tile_m, p.tiling.tile_n),
         fmt::format("(1, 1), or (2, 1) with two SMs or more, on SM 9.0; sm_count is {}",
                     device.sm_count));
}

}  // namespace

std::vector<Reason> sm90_limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  check_device(out, device);
  if (!out.empty()) return out;
  check_format(out, p);
  check_sizes(out, p);
  check_configs(out, p, device);
  return out;
}

std::vector<Sm90Candidate> sm90_candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Sm90Candidate> out;
  if (!sm90_limits(p, device).empty()) return out;
  for (const shared::Config& c : allowed_configs(p)) {
    if (fits(c, p, device)) {
      out.push_back({launch_values(c, p, device), sm90_cost(c, p, device)});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Sm90Candidate& a, const Sm90Candidate& b) {
    return a.cost.ms < b.cost.ms;
  });
  return out;
}

}  // namespace wgrad::plan
