#include "kernels/sm90/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm90/emulated/kernels.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/tensor_map.hpp"
#include "wgrad/shared/token_split.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

constexpr int kTileWidths[] = {64, 128, 192, 256};
constexpr int kTokenSplits[] = {2, 3, 4, 6};
constexpr int kTileRows = 128;
constexpr int kShortStage = 32;   // tokens: more, shorter stages hide more of the copies' latency
constexpr int kRoundsInHand = 2;  // parts that a multiprocessor multiplies, or has claimed ahead
constexpr int kMostSms = 1024;    // no chip has more; keeps raster arithmetic in int

/// What a planner chooses; the rest follows from the problem.
struct Choice {
  int tile_n;
  int cluster_m;
  int split_k;
  shared::WarpgroupSplit split;
  bool workspace_split = false;
};

Choice choice_of(const shared::Config& c) {
  return {c.tile_n, c.cluster_m, c.split_k, c.split, c.workspace_split};
}

std::vector<Choice> all_choices() {
  using Split = shared::WarpgroupSplit;
  std::vector<Choice> out;
  for (const int tile_n : kTileWidths) {
    for (const int cluster_m : {1, 2}) {
      for (const Split split : {Split::kRows, Split::kTiles})
        out.push_back({tile_n, cluster_m, 1, split});
    }
    for (const int split_k : kTokenSplits) out.push_back({tile_n, 1, split_k, Split::kRows});
    for (const int cluster_m : {1, 2}) out.push_back({tile_n, cluster_m, 1, Split::kRows, true});
  }
  return out;
}

shared::Config kernel_config(const Problem& p, const Choice& choice) {
  const int tile_n = choice.tile_n;
  shared::Config c;
  c.tile_m = kTileRows;
  c.tile_n = tile_n;
  c.cluster_m = choice.cluster_m;
  c.split_k = choice.split_k;
  c.workspace_split = choice.workspace_split;
  c.split = choice.split;
  c.input = input_type(p.a_dtype);
  c.output = output_type(p.wgrad_dtype);
  c.a = layout_of(p.a_major, p.input_order, p.m);
  c.b = layout_of(p.b_major, p.input_order, p.n);
  c.output_mode = p.output_mode == OutputMode::kDiscrete ? shared::OutputMode::kDiscrete
                                                         : shared::OutputMode::kDense;
  c.accumulate = p.accumulate;
  c.partial_columns = shared::needs_partial_columns(c.output, p.n);
  c.tail_n = shared::tail_columns(tile_n, p.n);
  const bool token_major = shared::is_mn_major(c.a) && shared::is_mn_major(c.b);
  c.tile_k = token_major ? kShortStage : shared::kTileK;
  c.ring_slots = tile_n == 256 ? 2 : tile_n == 128 ? 3 : 4;
  c.stages = shared::max_stages(c);
  return c;
}

/// A pingpong warpgroup holds a whole tile; at 192 columns nothing is left for moving the rows of
/// K-major operands (device/README.md).
bool spills(const shared::Config& c) {
  return c.split == shared::WarpgroupSplit::kTiles && c.tile_n == 192 && shared::moves_rows(c);
}

/// What the workspace, mma_tiler_mn and cluster_shape_mn leave open. A tile M of 256 is a pair of
/// 128-row CTAs. Whoever names a cluster wants no tokens shared.
bool tiling_allows(const Problem& p, const Choice& choice) {
  const Tiling& t = p.tiling;
  if (choice.workspace_split && !p.workspace) return false;
  const bool free_tile = t.tile_m == 256 && t.tile_n == 256;
  if (!free_tile && t.tile_n != choice.tile_n) return false;
  if (t.cluster_m != 0)
    return choice.split_k == 1 && !choice.workspace_split && t.cluster_m == choice.cluster_m &&
           t.cluster_n == 1;
  return free_tile || choice.cluster_m == (t.tile_m == 256 ? 2 : 1);
}

}  // namespace

shared::OperandLayout layout_of(Major major, InputOrder order, std::int64_t extent) {
  if (major == Major::kMn) return shared::mn_major_layout(extent);
  return order == InputOrder::kTensorRagged ? shared::OperandLayout::kKMajorRagged
                                            : shared::OperandLayout::kKMajor;
}

shared::OutputType output_type(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return shared::OutputType::kFp32;
    case DType::kF16:
      return shared::OutputType::kFp16;
    default:
      return shared::OutputType::kBf16;
  }
}

shared::InputType input_type(DType dtype) {
  return dtype == DType::kF16 ? shared::InputType::kFp16 : shared::InputType::kBf16;
}

std::int64_t smem_bytes(const shared::Config& c) {
  return static_cast<std::int64_t>(shared::smem_table(c).total);
}

std::vector<shared::Config> allowed_configs(const Problem& p) {
  std::vector<shared::Config> out;
  for (const Choice& choice : all_choices()) {
    if (!tiling_allows(p, choice)) continue;
    const shared::Config c = kernel_config(p, choice);
    if (shared::is_valid(c) && !spills(c)) out.push_back(c);
  }
  return out;
}

int usable_sms(const DeviceSpec& device) {
  return device.sm_limit > 0 ? std::min(device.sm_limit, device.sm_count) : device.sm_count;
}

shared::Sms sms_of(const DeviceSpec& device) {
  if (device.kind == DeviceKind::kEmulated) return {std::min(usable_sms(device), kMostSms), 0};
  return shared::sms_of_device(std::min(device.sm_count, kMostSms),
                               std::min(usable_sms(device), kMostSms));
}

bool fits(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  return smem_bytes(c) <= device.smem_bytes && tile_count(c, p) <= kMaxTiles &&
         shared::cluster_ctas(c) <= usable_sms(device);
}

std::vector<shared::Config> fitting_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<shared::Config> out = allowed_configs(p);
  std::erase_if(out, [&](const shared::Config& c) { return !fits(c, p, device); });
  return out;
}

bool computes(const shared::Config& c, const Problem& p) {
  const shared::Config want = kernel_config(p, choice_of(c));
  const auto loads = [](shared::OperandLayout has, shared::OperandLayout wanted) {
    return has == wanted || (has == shared::OperandLayout::kMnMajor && shared::is_mn_major(wanted));
  };
  return !p.scales && c.input == want.input && c.output == want.output && loads(c.a, want.a) &&
         loads(c.b, want.b) && c.output_mode == want.output_mode &&
         c.accumulate == want.accumulate && c.partial_columns >= want.partial_columns;
}

std::vector<shared::Config> compiled_configs(const std::vector<CompiledKernel>& kernels,
                                             const Problem& p, const DeviceSpec& device) {
  std::vector<shared::Config> out;
  for (const CompiledKernel& kernel : kernels) {
    const shared::Config& c = kernel.config;
    if (tiling_allows(p, choice_of(c)) && computes(c, p) && fits(c, p, device)) out.push_back(c);
  }
  return out;
}

std::vector<shared::Config> offered_configs(const Problem& p, const DeviceSpec& device) {
  return device.kind == DeviceKind::kEmulated ? compiled_configs(emulated_kernels(), p, device)
                                              : fitting_configs(p, device);
}

LaunchConfig launch_values(const shared::Config& c, const Problem& p, const DeviceSpec& device,
                           int parts, int least_tokens) {
  auto config = launch_of<LaunchConfig>(c, smem_bytes(c), p, device);
  if (!c.workspace_split) return config;
  const std::int64_t tiles = tile_count(c, p), each = tiles / p.experts;
  const std::int64_t ctas = shared::cluster_ctas(c), sms = sms_of(device).all;
  const std::int64_t ahead = ceil_div(kRoundsInHand * sms / ctas, each * parts);
  config.token_split = {static_cast<shared::u8>(parts),
                        static_cast<shared::u8>(least_tokens / shared::kTileK),
                        static_cast<shared::u16>(std::min(tiles, each * (ahead + 1)))};
  config.grid = static_cast<int>(std::min(sms / ctas, tiles * parts) * ctas);
  return config;
}

std::vector<plan::WorkspaceRegion> workspace_of(const LaunchConfig& config) {
  if (!config.kernel.workspace_split) return {};
  return {{kPartialSums, static_cast<std::int64_t>(
                             shared::partial_sums_bytes(config.kernel, config.token_split))}};
}

std::string sharing(const LaunchConfig& config) {
  const shared::Config& c = config.kernel;
  const shared::TokenSplit s = config.token_split;
  if (c.workspace_split)
    return fmt::format("up to {} parts of {} tokens or more, ", s.most, s.least * shared::kTileK);
  return c.split_k > 1 ? fmt::format("{} CTAs sharing tokens, ", c.split_k) : "";
}

std::string summary(const LaunchConfig& config) {
  const shared::Config& c = config.kernel;
  return fmt::format(
      "sm90 {}x{}x{} {}, {} stages, cluster {}x1, {}ring {}, raster {}, grid {}, {} KiB", c.tile_m,
      c.tile_n, c.tile_k, c.split == shared::WarpgroupSplit::kTiles ? "pingpong" : "cooperative",
      c.stages, c.cluster_m, sharing(config), c.ring_slots, config.raster_m, config.grid,
      config.smem_bytes / 1024);
}

}  // namespace wgrad::kernels::sm90
