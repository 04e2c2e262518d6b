// How tokens may lie over the experts, and how long tiles of unequal length then take. The counts
// are on the device, so a planner reckons with several ways.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace wgrad::kernels::sm90 {

enum class Skew : std::uint8_t {
  kJitter,  ///< up to 30 % above and below the mean
  kHot      ///< one expert has most of the tokens
};

constexpr std::int64_t kCountedExperts = 256;

/// Each expert's share of the tokens, largest first; sums to 1. More than kCountedExperts are taken
/// as alike, by one share that stands for all: no one of so many matters.
std::vector<double> token_shares(std::int64_t experts, Skew skew);

/// Clocks of the tiles of one expert: of those that are whole and of the last of each row; where
/// each is so many pieces of work, of a piece.
struct TileTimes {
  double whole = 0;
  double last = 0;
  double parts = 1;
};

/// The tiles of one expert, and how many of them run at a time.
struct TileCounts {
  double rows = 0;
  double columns = 0;
  double at_once = 0;
};

/// Clocks until the last tile of `experts` is done, when whoever comes free takes the next; `times`
/// tells those of an expert with this share of all tokens.
double makespan(const std::vector<double>& shares, double experts, const TileCounts& tiles,
                const std::function<TileTimes(double)>& times);

}  // namespace wgrad::kernels::sm90
