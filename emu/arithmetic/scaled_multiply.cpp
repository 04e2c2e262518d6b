#include "emu/arithmetic/scaled_multiply.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "emu/arithmetic/fused_sum.hpp"
#include "emu/arithmetic/multiply.hpp"

namespace wgrad::emu {
namespace {

using shared::ElementParts;
using shared::ElementType;
using shared::ScaleType;

constexpr std::uint32_t kByteDepth = 32;
constexpr std::uint32_t kPackedDepth = 64;
constexpr std::uint32_t kGroup = 16;  // products that are added exactly
constexpr std::uint32_t kGroups = kPackedDepth / kGroup;
constexpr int kBytePlaces = 25;
constexpr int kPackedPlaces = 35;
constexpr int kZeroExponent = -126;  // of a scale factor that is zero
constexpr int kNearScale = 60;       // scaled values stay inside FP32's normal range

float value_of(ElementType type, std::uint8_t code) {
  const ElementParts p = shared::parts_of(type, code);
  if (p.is_nan) return std::numeric_limits<float>::quiet_NaN();
  const float size = p.is_infinite ? std::numeric_limits<float>::infinity()
                                   : std::ldexp(static_cast<float>(p.significand), p.exponent);
  return p.sign != 0 ? -size : size;
}

float least_power(ElementType type) {
  return std::ldexp(1.0F, 1 - shared::exponent_bias(type));
}

int exponent_of_power(float power) {
  return power == 0 ? 0 : std::ilogb(power);
}

/// One operand of mxf8f6f4: values and powers without scale factors, and these as exponents.
struct Values {
  std::vector<float> values;
  std::vector<float> powers;
  std::vector<int> scales;
  bool near = true;  // all scale factors

  explicit Values(const ScaledOperand& x) {
    std::array<float, 256> table{};
    for (std::size_t code = 0; code < 256; ++code)
      table[code] = value_of(x.type, static_cast<std::uint8_t>(code));
    for (std::size_t row = 0; row < x.rows; ++row) {
      const std::uint32_t scale = x.scales[row];
      scales.push_back(static_cast<int>(scale) - shared::kE8m0Bias);
      near = near && std::abs(scales.back()) <= kNearScale;
      for (std::size_t k = 0; k < kByteDepth; ++k) {
        const float value = scale == shared::kE8m0Nan ? std::numeric_limits<float>::quiet_NaN()
                                                      : table[x.codes[row * kByteDepth + k]];
        values.push_back(value);
        powers.push_back(power_of(value, least_power(x.type)));
      }
    }
  }

  // In place: rows times their scale factors.
  void apply_scales() {
    for (std::size_t row = 0; row < scales.size(); ++row) {
      const float scale = std::ldexp(1.0F, scales[row]);
      for (std::size_t k = row * kByteDepth; k < (row + 1) * kByteDepth; ++k) {
        values[k] *= scale;
        powers[k] *= scale;
      }
    }
  }
};

std::vector<float> transposed(const std::vector<float>& rows) {
  const std::size_t n = rows.size() / kByteDepth;
  std::vector<float> out(rows.size());
  for (std::size_t row = 0; row < n; ++row) {
    for (std::size_t k = 0; k < kByteDepth; ++k) out[k * n + row] = rows[row * kByteDepth + k];
  }
  return out;
}

int exponent_of(float x) {
  return x == 0 ? kZeroExponent : std::max(std::ilogb(x), FusedSum::kLeastExponent);
}

// Scale factors beyond FP32: exponents as integers.
void multiply_far(float* d, const Values& a, const Values& b) {
  for (std::size_t i = 0; i < a.scales.size(); ++i) {
    for (std::size_t j = 0; j < b.scales.size(); ++j, ++d) {
      const int scale = a.scales[i] + b.scales[j];
      FusedSum sum(kBytePlaces);
      for (std::size_t k = 0; k < kByteDepth; ++k) {
        const std::size_t p = i * kByteDepth + k, q = j * kByteDepth + k;
        sum.add(std::ldexp(double{a.values[p]} * double{b.values[q]}, scale),
                exponent_of_power(a.powers[p]) + exponent_of_power(b.powers[q]) + scale);
      }
      if (std::isfinite(*d)) {
        sum.add(*d, exponent_of(*d));
      } else {
        sum.add(*d, 0);
      }
      *d = std::bit_cast<float>(sum.bits());
    }
  }
}

/// A scale factor as significand and exponent.
struct Scale {
  double significand = 0;
  int exponent = kZeroExponent;
};

Scale scale_of(ScaleType type, std::uint32_t code) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  if (type == ScaleType::kE8m0) {
    return {code == shared::kE8m0Nan ? nan : 1.0, static_cast<int>(code) - shared::kE8m0Bias};
  }
  const ElementParts p = shared::parts_of(ElementType::kE4m3, code & 0x7f);
  if (p.is_nan) return {nan, 0};
  if (p.significand == 0) return {};
  const double value = std::ldexp(static_cast<double>(p.significand), p.exponent);
  const int exponent = std::max(std::ilogb(value), 1 - shared::exponent_bias(ElementType::kE4m3));
  return {std::ldexp(value, -exponent), exponent};
}

/// One operand of mxf4: twice the values, and scale factors by groups of 16.
struct Groups {
  std::vector<std::int16_t> halves;
  std::vector<Scale> scales;

  Groups(const ScaledOperand& x, ScaleType type) {
    const std::size_t per_row = x.scales.size() / x.rows;
    for (const std::uint8_t code : x.codes)
      halves.push_back(static_cast<std::int16_t>(2 * value_of(ElementType::kE2m1, code)));
    for (std::size_t row = 0; row < x.rows; ++row) {
      for (std::size_t g = 0; g < kGroups; ++g)
        scales.push_back(scale_of(type, x.scales[row * per_row + g * per_row / kGroups]));
    }
  }
  const std::int16_t* group(std::size_t row, std::size_t g) const {
    return &halves[row * kPackedDepth + g * kGroup];
  }
};

int dot(const std::int16_t* a, const std::int16_t* b) {
  int sum = 0;
  for (std::uint32_t k = 0; k < kGroup; ++k) sum += int{a[k]} * int{b[k]};
  return sum;
}

}  // namespace

void multiply_mxf8f6f4(float* d, const ScaledOperand& a, const ScaledOperand& b) {
  Values x(a), y(b);
  if (!x.near || !y.near) return multiply_far(d, x, y);
  x.apply_scales();
  y.apply_scales();
  const std::vector<float> values = transposed(y.values), powers = transposed(y.powers);
  multiply(d, {a.rows, b.rows, kByteDepth}, {x.values.data(), x.powers.data()},
           {values.data(), powers.data()});
}

void multiply_mxf4(float* d, const ScaledOperand& a, const ScaledOperand& b, ScaleType scale) {
  const Groups x(a, scale), y(b, scale);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.rows; ++j, ++d) {
      FusedSum sum(kPackedPlaces);
      for (std::size_t g = 0; g < kGroups; ++g) {
        const Scale &p = x.scales[i * kGroups + g], &q = y.scales[j * kGroups + g];
        const double quarters = dot(x.group(i, g), y.group(j, g));
        const int exponent = p.exponent + q.exponent;
        sum.add_at(std::ldexp(quarters / 4 * p.significand * q.significand, exponent), exponent);
      }
      if (std::isfinite(*d)) {
        sum.add_at(*d, exponent_of(*d));
      } else {
        sum.add(*d, 0);
      }
      *d = std::bit_cast<float>(sum.bits());
    }
  }
}

}  // namespace wgrad::emu
