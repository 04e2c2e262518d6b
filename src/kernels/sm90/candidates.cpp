#include "kernels/sm90/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace wgrad::kernels::sm90 {
namespace {

using Reasons = std::vector<Reason>;

constexpr std::int64_t kTypicalTokens = 8192;  // of an expert

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
  } else if (device.sm_limit < 0) {
    out.push_back({"sm-limit", "sm_limit", fmt::format("{}", device.sm_limit),
                   "0 (no limit) or a positive number of multiprocessors"});
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
  if (ragged_map && p.tokens > kMaxTokens) {
    refuse(out, "token-limit", "tokens", fmt::format("{}", p.tokens),
           fmt::format("at most {} for an MN-major operand on SM 9.0", kMaxTokens));
  }
  const auto check_extent = [&](const char* name, std::int64_t extent) {
    if (extent <= kMaxExtent) return;
    refuse(out, "extent-limit", name, fmt::format("{}", extent),
           fmt::format("at most {} on SM 9.0", kMaxExtent));
  };
  check_extent("m", p.m);
  check_extent("n", p.n);
  if (!ragged_map) check_extent("tokens", p.tokens);
  const std::int64_t pitch = row_pitch(p) * bits(p.wgrad_dtype) / 8;
  if (pitch > kMaxPitchBytes) {
    refuse(out, "pitch-limit", "wgrad row pitch", fmt::format("{} bytes", pitch),
           fmt::format("at most {} bytes on SM 9.0", kMaxPitchBytes));
  }
}

std::vector<shared::Config> fitting_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<shared::Config> out = allowed_configs(p);
  const auto too_large = [&](const shared::Config& c) { return !fits(c, p, device); };
  out.erase(std::remove_if(out.begin(), out.end(), too_large), out.end());
  return out;
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

Problem with_typical_tokens(Problem p) {
  p.tokens = p.experts * kTypicalTokens;
  return p;
}

}  // namespace

int token_split(const Problem& problem, DeviceSpec device) {
  Problem p = with_typical_tokens(problem);
  p.a_major = p.b_major = Major::kMn;
  p.wgrad_dtype = DType::kBf16;
  p.accumulate = false;
  device.sm_limit = 0;
  int split = 1;
  double least = std::numeric_limits<double>::infinity();
  for (const shared::Config& c : fitting_configs(p, device)) {
    const double ms = cost(c, p, device).ms;
    if (ms >= least) continue;
    least = ms;
    split = c.split_k;
  }
  return split;
}

std::vector<Reason> limits(const Problem& p, const DeviceSpec& device) {
  Reasons out;
  check_device(out, device);
  if (!out.empty()) return out;
  check_format(out, p);
  check_sizes(out, p);
  check_configs(out, p, device);
  return out;
}

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  std::vector<shared::Config> configs = fitting_configs(p, device);
  // A first call without tokens tells nothing of those to come.
  const Problem ranked = p.tokens == 0 ? with_typical_tokens(p) : p;
  const auto ms = [&](const shared::Config& c) { return cost(c, ranked, device).ms; };
  const auto has = [&](int split_k) {
    return std::any_of(configs.begin(), configs.end(),
                       [&](const shared::Config& c) { return c.split_k == split_k; });
  };
  int split = token_split(p, device);
  while (split > 1 && !has(split)) split /= 2;
  const auto rank = [&](const shared::Config& c) { return std::pair(c.split_k != split, ms(c)); };
  std::stable_sort(
      configs.begin(), configs.end(),
      [&](const shared::Config& a, const shared::Config& b) { return rank(a) < rank(b); });
  for (const shared::Config& c : configs)
    out.push_back({launch_values(c, p, device), cost(c, p, device)});
  return out;
}

}  // namespace wgrad::kernels::sm90
