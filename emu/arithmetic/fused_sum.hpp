// One element's sum, as tensor cores add: every term is cut, towards zero, to so many binary places
// below the largest exponent; the cut terms are added exactly; the sum is cut, towards zero, to
// FP32, or to fewer places of it, subnormals included (emu/README.md).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

namespace wgrad::emu {

class FusedSum {
 public:
  static constexpr int kFloatPlaces = 23;      // of FP32's significand
  static constexpr int kLeastExponent = -126;  // of FP32
  static constexpr std::uint32_t kInfinity = 0x7f800000;
  static constexpr std::uint32_t kNan = 0x7fffffff;

  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): terms are written before they count
  explicit FusedSum(int places, int kept = kFloatPlaces) : places_(places), kept_(kept) {}

  /// An exact term; a zero has no exponent.
  void add(double value, int exponent) {
    if (std::isnan(value)) {
      nan_ = true;
    } else if (std::isinf(value)) {
      infinite_[value < 0 ? 1 : 0] = true;
    } else if (value != 0) {
      terms_[count_++] = {value, exponent};
    }
    if (value != 0 || !std::signbit(value)) only_negative_zeros_ = false;
  }
  /// One whose exponent counts even where it is zero.
  void add_at(double value, int exponent) {
    if (value == 0) largest_ = std::max(largest_, exponent);
    add(value, exponent);
  }

  std::uint32_t bits() const {
    if (nan_ || (infinite_[0] && infinite_[1])) return kNan;
    if (infinite_[0] || infinite_[1]) return sign(infinite_[1]) | kInfinity;
    if (count_ == 0) return sign(only_negative_zeros_);
    int largest = largest_;
    for (std::size_t i = 0; i < count_; ++i) largest = std::max(largest, terms_[i].exponent);
    double sum = 0;  // of integers below 2^52: exact
    for (std::size_t i = 0; i < count_; ++i) {
      sum += std::trunc(std::ldexp(terms_[i].value, places_ - largest));
    }
    return cut(sum, largest - places_);
  }

 private:
  struct Term {
    double value;
    int exponent;
  };

  static std::uint32_t sign(bool negative) { return negative ? 0x80000000 : 0; }

  // integer * 2^exponent as FP32, towards zero.
  std::uint32_t cut(double integer, int exponent) const {
    if (integer == 0) return 0;
    const double magnitude = std::abs(integer);
    const int leading = std::ilogb(magnitude) + exponent;
    if (leading > 127) return sign(integer < 0) | kInfinity;
    const int last = std::max(leading, kLeastExponent) - kFloatPlaces;  // place of the last bit
    const int dropped = kFloatPlaces - kept_;
    const auto significand =
        static_cast<std::uint32_t>(std::trunc(std::ldexp(magnitude, exponent - last - dropped)))
        << dropped;
    const auto biased = static_cast<std::uint32_t>(std::max(leading, kLeastExponent) + 127);
    // The leading bit of a normal significand adds 1 to the exponent's field.
    return sign(integer < 0) | (((biased - 1) << kFloatPlaces) + significand);
  }

  int places_;
  int kept_;  // of the result's significand
  int largest_ = -100'000;
  std::array<Term, 33> terms_;
  std::size_t count_ = 0;
  bool only_negative_zeros_ = true;
  bool nan_ = false;
  bool infinite_[2] = {false, false};  // by sign
};

}  // namespace wgrad::emu
