#include "scales/block_quantizer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "scales/codec.hpp"
#include "scales/encode_float.hpp"

namespace wgrad::scales {
namespace {

/// Exponent of the largest power of two that an element holds.
int max_exponent(DType element) {
  return element == DType::kE4m3 ? 8 : element == DType::kE5m2 ? 15 : 2;
}

/// The largest value over its power of two: 448 / 2^8, 57344 / 2^15, 6 / 2^2.
float max_mantissa(DType element) {
  return element == DType::kE2m1 ? 1.5F : 1.75F;
}

int e8m0_exponent(const BlockFormat& format, float amax) {
  const int exponent = std::ilogb(amax);
  const bool over = std::scalbn(amax, -exponent) > max_mantissa(format.element);
  const bool up = format.mode == ScalingMode::kRceil && over;
  return exponent - max_exponent(format.element) + (up ? 1 : 0);
}

template <FloatFormat F>
void encode_all(std::span<const float> values, const BlockScale& scale, std::uint8_t* codes) {
  const float lift = scale.lift, inverse = scale.inverse;
  for (std::size_t i = 0; i < values.size(); ++i) {
    codes[i] = encode_saturating<F>(values[i] * lift * inverse);
  }
}

BlockScale inverted(std::uint8_t code, float global_scale) {
  const float lift = global_scale < 0x1p-60F ? 0x1p64F : 1.0F;
  const float scale = static_cast<float>(decode<kE4m3Format>(code)) * (global_scale * lift);
  return {code, lift, scale > 0.0F ? 1.0F / scale : 0.0F};
}

}  // namespace

BlockFormat block_format(const QuantizeSpec& spec) {
  if (spec.format == Format::kNvfp4) return {DType::kE2m1, DType::kE4m3, 16, spec.scaling_mode};
  const DType element = spec.format == Format::kMxfp4 ? DType::kE2m1 : spec.element;
  return {element, DType::kE8m0, 32, spec.scaling_mode};
}

BlockRange block_range(std::span<const float> values) {
  constexpr std::uint32_t kInfinity = 0x7F800000U;
  std::uint32_t largest = 0;
  bool finite = true;
  for (const float value : values) {
    const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(value) & 0x7FFFFFFFU;
    const bool ok = magnitude < kInfinity;
    finite = finite && ok;
    largest = std::max(largest, ok ? magnitude : 0U);
  }
  return {std::bit_cast<float>(largest), finite};
}

BlockScale block_scale(const BlockFormat& format, BlockRange range, float global_scale) {
  const bool e8m0 = format.scale == DType::kE8m0;
  if (!range.finite) return {static_cast<std::uint8_t>(e8m0 ? 0xFF : 0x7F), 1, 0};
  if (range.amax == 0.0F) return {0, 1, 0};
  if (e8m0) {
    const int exponent = std::max(e8m0_exponent(format, range.amax), -127);
    return {e8m0_of_exponent(exponent), 1, static_cast<float>(power_of_two(-exponent))};
  }
  const std::uint32_t code =
      encode<kE4m3Format>(double{range.amax} / 6.0 / global_scale, Overflow::kSaturate);
  return inverted(static_cast<std::uint8_t>(code), global_scale);
}

void encode_block(DType element, std::span<const float> values, const BlockScale& scale,
                  std::uint8_t* codes) {
  if (scale.inverse == 0) {  // the values may be NaN, which encode_saturating does not take
    std::fill_n(codes, values.size(), std::uint8_t{0});
  } else if (element == DType::kE4m3) {
    encode_all<kE4m3Format>(values, scale, codes);
  } else if (element == DType::kE5m2) {
    encode_all<kE5m2Format>(values, scale, codes);
  } else {
    encode_all<kE2m1Format>(values, scale, codes);
  }
}

float nvfp4_global_scale(float amax) {
  if (amax == 0.0F) return 1.0F;
  return std::max(amax / (448.0F * 6.0F), std::numeric_limits<float>::denorm_min());
}

}  // namespace wgrad::scales
