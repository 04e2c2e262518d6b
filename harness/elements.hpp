// Elements of 16-bit operands and of outputs, by index.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wgrad/dtype.hpp"

namespace wgrad::harness {

/// Element `index` of an array of kBf16, kF16 or kF32.
double load(DType dtype, const std::byte* array, std::int64_t index);

/// Rounds `value` into element `index` of an array of kBf16, kF16 or kF32.
void store(DType dtype, std::byte* array, std::int64_t index, float value);

/// Half the distance between 1 and the next larger number of kBf16, kF16 or kF32.
double unit_roundoff(DType dtype);

/// The smallest positive number of kBf16, kF16 or kF32.
double smallest(DType dtype);

}  // namespace wgrad::harness
