#include "wgrad/codec.hpp"

#include <bit>
#include <cmath>

#include "core/float_environment.hpp"
#include "scales/codec.hpp"

namespace wgrad {
namespace {

std::uint32_t encode_e8m0(double value) {
  if (!(value > 0)) return 255;
  int exponent = 0;
  const double fraction = std::frexp(std::fmin(value, 0x1p127), &exponent);  // in [0.5, 1)
  return scales::e8m0_of_exponent(fraction > 0.75 ? exponent : exponent - 1);
}

}  // namespace

double decode(DType dtype, std::uint32_t code) noexcept {
  const core::DefaultFloatEnvironment float_environment;
  return scales::decode(dtype, code);
}

std::uint32_t encode(DType dtype, double value) noexcept {
  const core::DefaultFloatEnvironment float_environment;
  switch (dtype) {
    case DType::kBf16:
      return scales::encode<scales::kBf16Format>(value, scales::Overflow::kInfinity);
    case DType::kF16:
      return scales::encode<scales::kF16Format>(value, scales::Overflow::kInfinity);
    case DType::kE5m2:
      return scales::encode<scales::kE5m2Format>(value, scales::Overflow::kInfinity);
    case DType::kE4m3:
      return scales::encode<scales::kE4m3Format>(value, scales::Overflow::kSaturate);
    case DType::kE2m1:
      return scales::encode<scales::kE2m1Format>(value, scales::Overflow::kSaturate);
    case DType::kE8m0:
      return encode_e8m0(value);
    case DType::kF32:
      break;
  }
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

}  // namespace wgrad
