// The one rule of offsets that the scale helpers enforce before they follow them.
#pragma once

#include <cstdint>
#include <span>

namespace wgrad::scales {

/// Throws ValueError naming the first expert whose end is below the end before it, negative, or
/// above `tokens`.
void check_offsets(std::span<const std::int32_t> offsets, std::int64_t tokens);

}  // namespace wgrad::scales
