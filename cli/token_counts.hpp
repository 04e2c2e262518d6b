// Tokens per expert, drawn from a distribution.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cli/shapes.hpp"

namespace wgrad::cli {

/// E counts whose sum is `shape.tokens` (rounded down to `multiple`), each a multiple of
/// `multiple`. The same seed gives the same counts.
std::vector<std::int64_t> token_counts(const Shape& shape, std::uint64_t seed,
                                       std::int64_t multiple);

/// Cumulative ends. Throws ValueError past the int32 range.
std::vector<std::int32_t> cumulative_ends(std::span<const std::int64_t> counts);

}  // namespace wgrad::cli
