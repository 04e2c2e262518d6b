// Tokens per expert, drawn from a distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/shapes.hpp"

namespace wgrad::bench {

/// E counts whose sum is `shape.tokens` (rounded down to `multiple`), each a multiple of
/// `multiple`. The same seed gives the same counts on every machine.
std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed,
                                       std::int64_t multiple = 1);

/// Cumulative ends. Throws ValueError for a negative count and past the int32 range.
std::vector<std::int32_t> cumulative_ends(std::span<const std::int64_t> counts);

}  // namespace wgrad::bench
