#include "kernels/sm90/candidates.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90/cost.hpp"
#include "kernels/sm90/limits.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::kernels::sm90 {
namespace {

// Of all experts. What a plan is made for follows no call's tokens: the first one may be a warm-up.
// A rank's 2048 to 65536 tokens go to 1 to 8 experts each, however many experts it has
// (docs/notes/2026-12-01-long-tiles-fall-out-of-step.md).
constexpr std::int64_t kTypicalTokens[] = {32768, 524288};
constexpr std::int64_t kSplitTokens = 8192;  // of an expert, where they are worth sharing
// Of all experts, where their tokens may go into parts.
constexpr std::int64_t kPartsTokens = 131072;
constexpr int kWorkspaceParts[] = {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 64};
constexpr int kMostParts = 64;
constexpr int kLeastTokens[] = {2048, 4096, 8192};
constexpr int kMostRounds = 2;  // of the parts of one expert
// Weight of problems of which one expert has most of the tokens. Few tiles suffer most from it.
constexpr double kHotWeight = 0.1;
constexpr double kSplitHotWeight = 0.3;
constexpr double kPartsHotWeight = 0.2;

/// What tiles are ranked by: the geometric mean over the typical calls.
double typical_ms(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  double product = 1;
  Problem typical = p;
  for (const std::int64_t tokens : kTypicalTokens) {
    typical.tokens = tokens;
    product *= ranked_ms(c, typical, device, kHotWeight);
  }
  return std::pow(product, 1.0 / std::size(kTypicalTokens));
}

/// Tokens are shared where the multiprocessors outnumber the tiles.
bool may_split(const shared::Config& c, const Problem& p, const DeviceSpec& device) {
  return c.split_k == 1 || tile_count(c, p) <= device.sm_count;
}

/// Rules for a configuration that splits in the workspace: no more parts than fill the
/// multiprocessors a few times.
std::vector<TokenShares> workspace_splits(const shared::Config& c, const Problem& p,
                                          const DeviceSpec& device) {
  std::vector<TokenShares> out;
  const std::int64_t tiles = tile_count(c, p) * shared::cluster_ctas(c);
  for (const int parts : kWorkspaceParts) {
    if (tiles / p.experts * parts > std::int64_t{kMostRounds} * device.sm_count) break;
    for (const int least : kLeastTokens) out.push_back({1, parts, least});
  }
  return out;
}

/// Beside the planner's choice, for timing: parts that fill the multiprocessors once, twice, ...,
/// or that let one expert fill them.
std::vector<TokenShares> timed_splits(const shared::Config& c, const Problem& p,
                                      const DeviceSpec& device) {
  std::vector<TokenShares> out;
  const std::int64_t clusters = device.sm_count / shared::cluster_ctas(c);
  for (const std::int64_t rounds : {1, 2, 4}) {
    const std::int64_t parts = rounds * clusters / tile_count(c, p);
    if (parts > 1 && parts <= kMostParts)
      out.push_back({1, static_cast<int>(parts), kLeastTokens[0]});
  }
  const std::int64_t of_one = ceil_div(clusters, tile_count(c, p) / p.experts);
  const int most = static_cast<int>(std::clamp<std::int64_t>(of_one, 2, kMostParts));
  for (const int least : {kLeastTokens[1], kLeastTokens[2]}) {
    if (p.experts > 1) out.push_back({1, most, least});
  }
  return out;
}

shared::TokenSplit rule(const TokenShares& s) {
  return {static_cast<shared::u8>(s.parts), static_cast<shared::u8>(s.least_tokens / 64), 1};
}

}  // namespace

namespace {

/// What decides who shares the tokens. With a workspace, the more of them the fewer experts there
/// are.
double split_ms(const shared::Config& c, const Problem& p, const DeviceSpec& device,
                const TokenShares& shares) {
  Problem typical = p;
  typical.tokens = kSplitTokens * p.experts;
  if (!p.workspace) return ranked_ms(c, typical, device, kSplitHotWeight);
  typical.tokens = std::max(kPartsTokens, typical.tokens);
  return ranked_ms(c, typical, device, kPartsHotWeight, rule(shares));
}

}  // namespace

TokenShares token_shares_of(const Problem& problem, DeviceSpec device) {
  Problem p = problem;
  p.a_major = p.b_major = Major::kMn;
  p.wgrad_dtype = DType::kBf16;
  p.accumulate = false;
  device.sm_limit = 0;
  TokenShares best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const shared::Config& c, const TokenShares& shares) {
    const double ms = split_ms(c, p, device, shares);
    if (ms >= least) return;
    least = ms;
    best = shares;
  };
  for (const shared::Config& c : fitting_configs(p, device)) {
    if (!may_split(c, p, device)) continue;
    if (!c.workspace_split) consider(c, {c.split_k});
    if (!c.workspace_split) continue;
    for (const TokenShares& shares : workspace_splits(c, p, device)) consider(c, shares);
  }
  return best;
}

std::vector<Candidate> candidates(const Problem& p, const DeviceSpec& device) {
  std::vector<Candidate> out;
  if (!limits(p, device).empty()) return out;
  const std::vector<shared::Config> configs = offered_configs(p, device);
  const auto has = [&](const TokenShares& s) {
    return std::any_of(configs.begin(), configs.end(), [&](const shared::Config& c) {
      return c.split_k == s.split_k && c.workspace_split == (s.parts > 1);
    });
  };
  TokenShares wanted = token_shares_of(p, device);
  if (!has(wanted)) wanted = {std::max(wanted.split_k, 1)};
  while (wanted.split_k > 1 && !has(wanted)) --wanted.split_k;
  const auto add = [&](const shared::Config& c, const TokenShares& shares) {
    const LaunchConfig config = launch_values(c, p, device, shares.parts, shares.least_tokens);
    const Cost predicted = cost(c, p, device, rule(shares));
    out.push_back(
        {.config = config,
         .summary = summary(config),
         .predicted_ms = predicted.ms,
         .bound = name(predicted.bound),
         .rank = shares == wanted ? 0 : 1,
         .cost = shares.parts > 1 ? split_ms(c, p, device, shares) : typical_ms(c, p, device),
         .workspace = workspace_of(config)});
  };
  for (const shared::Config& c : configs) {
    if (!c.workspace_split) add(c, {c.split_k});
    if (!c.workspace_split) continue;
    if (wanted.parts > 1) add(c, wanted);
    for (const TokenShares& s : timed_splits(c, p, device)) {
      if (s != wanted) add(c, s);
    }
  }
  return out;
}

}  // namespace wgrad::kernels::sm90
