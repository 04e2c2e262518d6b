// Element types and their sizes.
#pragma once

#include <cstdint>
#include <string_view>

namespace wgrad {

/// Element types of operands, scale factors and outputs.
/// Values are decoded as IEEE 754 (f16, f32), bfloat16, and the OCP MX / FP8 encodings.
enum class DType : std::uint8_t {
  kBf16,  ///< bfloat16: 8 exponent, 7 mantissa bits
  kF16,   ///< IEEE half
  kF32,   ///< IEEE single
  kE4m3,  ///< float8_e4m3fn: no infinity, 0x7F and 0xFF are NaN
  kE5m2,  ///< float8_e5m2: IEEE-like, with infinities
  kE2m1,  ///< float4_e2m1fn, two per byte, the even element in the low nibble
  kE8m0,  ///< float8_e8m0fnu: byte b is 2^(b-127), 255 is NaN
};

/// The framework spelling: "bfloat16", "float16", "float32", "float8_e4m3fn", "float8_e5m2",
/// "float4_e2m1fn_x2", "float8_e8m0fnu".
std::string_view name(DType dtype) noexcept;

/// Bits of one element: 4, 8, 16 or 32.
constexpr int bits(DType dtype) noexcept {
  switch (dtype) {
    case DType::kF32:
      return 32;
    case DType::kBf16:
    case DType::kF16:
      return 16;
    case DType::kE2m1:
      return 4;
    default:
      return 8;
  }
}

}  // namespace wgrad
