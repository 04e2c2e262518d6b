#include "kernels/sm90/skew.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace wgrad::kernels::sm90 {
namespace {

constexpr double kJitterRange = 0.3;
constexpr double kHotFactor = 4;  // times the number of experts: bench/shapes.py
constexpr double kCountedTiles = 512;
constexpr double kTailTiles = 0.28;  // that the last CTA is behind the average one

double weight(std::int64_t expert, std::int64_t experts, Skew skew) {
  if (skew == Skew::kHot) return expert == 0 ? kHotFactor * static_cast<double>(experts) : 1;
  const double position = (static_cast<double>(expert) + 0.5) / static_cast<double>(experts);
  return 1 + kJitterRange * (1 - 2 * position);
}

/// Tile by tile: few tiles leave a last round that is nearly full or nearly empty.
double counted(const std::vector<double>& shares, const TileCounts& tiles,
               const std::function<TileTimes(double)>& times) {
  std::vector<double> free_at(static_cast<std::size_t>(tiles.at_once), 0);  // a heap, least first
  double last = 0;
  const auto run = [&](double count, double clocks) {
    for (int i = 0; i < static_cast<int>(count); ++i) {
      std::pop_heap(free_at.begin(), free_at.end(), std::greater<>());
      free_at.back() += clocks;
      last = std::max(last, free_at.back());
      std::push_heap(free_at.begin(), free_at.end(), std::greater<>());
    }
  };
  for (const double share : shares) {
    const TileTimes t = times(share);
    run(tiles.rows * (tiles.columns - 1) * t.parts, t.whole);
    run(tiles.rows * t.parts, t.last);
  }
  return last;
}

double estimated(const std::vector<double>& shares, double experts, const TileCounts& tiles,
                 const std::function<TileTimes(double)>& times) {
  const double each = tiles.rows * tiles.columns;
  const double alike = experts / static_cast<double>(shares.size());  // that a share stands for
  double work = 0, longest = 0, before = 0;
  for (const double share : shares) {
    const TileTimes t = times(share / alike);
    work += alike * tiles.rows * ((tiles.columns - 1) * t.whole + t.last) * t.parts;
    before += alike * each * t.parts;
    longest = std::max(longest, std::ceil(before / tiles.at_once) * t.whole);
  }
  return std::max(work / tiles.at_once + kTailTiles * times(1 / experts).whole, longest);
}

}  // namespace

std::vector<double> token_shares(std::int64_t experts, Skew skew) {
  if (experts > kCountedExperts) return {1};
  std::vector<double> shares(static_cast<std::size_t>(experts));
  for (std::int64_t e = 0; e < experts; ++e)
    shares[static_cast<std::size_t>(e)] = experts == 1 ? 1 : weight(e, experts, skew);
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& share : shares) share /= sum;
  return shares;
}

double makespan(const std::vector<double>& shares, double experts, const TileCounts& tiles,
                const std::function<TileTimes(double)>& times) {
  const bool each = static_cast<double>(shares.size()) == experts;
  if (each && experts * tiles.rows * tiles.columns <= kCountedTiles)
    return counted(shares, tiles, times);
  return estimated(shares, experts, tiles, times);
}

}  // namespace wgrad::kernels::sm90
