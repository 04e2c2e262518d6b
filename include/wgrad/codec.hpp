// Numbers to and from the codes that operands, scale factors and outputs hold.
#pragma once

#include <cstdint>

#include "wgrad/dtype.hpp"

namespace wgrad {

/// The value of one code of `dtype`, exactly; kE2m1 in the low four bits.
double decode(DType dtype, std::uint32_t code) noexcept;

/// The code nearest to `value`, ties to even. Beyond the largest finite value: infinity, where the
/// dtype has one, else the largest finite value. A NaN becomes the dtype's; in kE2m1, which has
/// none, code 7 (6.0). kE8m0 takes the nearest power of two, and its NaN for values that are not
/// positive.
std::uint32_t encode(DType dtype, double value) noexcept;

}  // namespace wgrad
