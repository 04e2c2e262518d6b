#include "emu/multiply.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

namespace wgrad::emu {
namespace {

constexpr int kPlaces = 25;           // kept below the largest exponent
constexpr int kFloatPlaces = 23;      // of FP32's significand
constexpr int kLeastExponent = -126;  // of FP32 and bf16
constexpr std::uint32_t kExponentBits = 0x7f800000;
constexpr std::uint32_t kInfinity = 0x7f800000;
constexpr std::uint32_t kNan = 0x7fffffff;

// 2^exponent of a factor or an accumulator: at least `least`; 0 for 0, infinity for what is not
// finite.
float power_of(float x, float least) {
  if (x == 0) return 0;
  return std::max(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & kExponentBits), least);
}

/// Sums of any size, one at a time.
struct Sum {  // NOLINT(cppcoreguidelines-pro-type-member-init): terms are written before they count
  struct Term {
    double value;  // exact
    int exponent;
  };
  std::array<Term, kWgmmaDepth + 1> terms{};
  std::size_t count = 0;
  bool only_negative_zeros = true;
  bool nan = false;
  bool infinite[2] = {false, false};  // by sign

  void add(double value, int exponent) {
    if (std::isnan(value)) {
      nan = true;
    } else if (std::isinf(value)) {
      infinite[value < 0 ? 1 : 0] = true;
    } else if (value != 0) {
      terms[count++] = {value, exponent};
    }
    if (value != 0 || !std::signbit(value)) only_negative_zeros = false;
  }

  std::uint32_t bits() const {
    if (nan || (infinite[0] && infinite[1])) return kNan;
    if (infinite[0] || infinite[1]) return sign(infinite[1]) | kInfinity;
    if (count == 0) return sign(only_negative_zeros);
    int largest = terms[0].exponent;
    for (std::size_t i = 1; i < count; ++i) largest = std::max(largest, terms[i].exponent);
    double sum = 0;  // of integers below 2^32: exact
    for (std::size_t i = 0; i < count; ++i) {
      sum += std::trunc(std::ldexp(terms[i].value, kPlaces - largest));
    }
    return cut(sum, largest - kPlaces);
  }

  static std::uint32_t sign(bool negative) { return negative ? 0x80000000 : 0; }

  // integer * 2^exponent as FP32, towards zero.
  static std::uint32_t cut(double integer, int exponent) {
    if (integer == 0) return 0;
    const double magnitude = std::abs(integer);
    const int leading = std::ilogb(magnitude) + exponent;
    if (leading > 127) return sign(integer < 0) | kInfinity;
    const int last = std::max(leading, kLeastExponent) - kFloatPlaces;  // place of the last bit
    const auto significand =
        static_cast<std::uint32_t>(std::trunc(std::ldexp(magnitude, exponent - last)));
    const auto biased = static_cast<std::uint32_t>(std::max(leading, kLeastExponent) + 127);
    // The leading bit of a normal significand adds 1 to the exponent's field.
    return sign(integer < 0) | (((biased - 1) << kFloatPlaces) + significand);
  }
};

int exponent_of(float power) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(power) >> kFloatPlaces) - 127;
}

using Floats = float __attribute__((vector_size(32)));
using Ints = std::int32_t __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(64)));
using Longs = std::int64_t __attribute__((vector_size(64)));
constexpr std::uint32_t kLanes = 8;

// Sums whose largest exponent lies here have only terms, and a result, within FP32's normal range.
constexpr float kLow = 0x1p-90F;
constexpr float kHigh = 0x1p100F;

// (Returned vectors would warn where AVX is off.)
[[gnu::always_inline]] inline void load(Floats& v, const float* from) {
  std::memcpy(&v, from, sizeof v);
}
template <typename To, typename From>
[[gnu::always_inline]] inline void reinterpret(To& to, const From& from) {
  static_assert(sizeof to == sizeof from);
  std::memcpy(&to, &from, sizeof to);
}

/// One wgmma's factors, with the powers of two that they reach.
class Product {
 public:
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): as many powers as n says
  Product(const float* a, const float* b, std::uint32_t n, bool fp16) : a_(a), b_(b), n_(n) {
    const float least = fp16 ? 0x1p-14F : 0x1p-126F;
    for (std::uint32_t i = 0; i < kWgmmaRows * kWgmmaDepth; ++i) {
      power_a_[i] = power_of(a[i], least);
    }
    for (std::uint32_t i = 0; i < kWgmmaDepth * n; ++i) {
      power_b_[i] = power_of(b[i], least);
      finite_b_ = finite_b_ && std::isfinite(b[i]);
    }
  }

  [[gnu::always_inline]] inline void add_to(float* d) const {
    for (std::size_t row = 0; row < kWgmmaRows; ++row) {
      const float* powers = power_a_ + row * kWgmmaDepth;
      const bool finite = finite_b_ && std::all_of(powers, powers + kWgmmaDepth,
                                                   [](float p) { return std::isfinite(p); });
      for (std::size_t column = 0; column < n_; column += kLanes) {
        float* out = d + row * n_ + column;
        if (!finite || !add_lanes(out, row, column)) add_one_by_one(out, row, column);
      }
    }
  }

 private:
  // False: a sum is out of the range of these vectors.
  [[gnu::always_inline]] inline bool add_lanes(float* out, std::size_t row,
                                               std::size_t column) const {
    const float* a = a_ + row * kWgmmaDepth;
    const float* power_a = power_a_ + row * kWgmmaDepth;
    Floats c, largest;
    Ints c_bits;
    load(c, out);
    reinterpret(c_bits, c);
    c_bits &= static_cast<std::int32_t>(kExponentBits);
    reinterpret(largest, c_bits);
    for (std::size_t k = 0; k < kWgmmaDepth; ++k) {
      Floats power;
      load(power, power_b_ + k * n_ + column);
      power *= power_a[k];
      largest = power > largest ? power : largest;
    }
    bool inside = true;
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      inside = inside && largest[i] >= kLow && largest[i] <= kHigh;
    }
    if (!inside) return false;
    // 2^(25 - e) of each lane. Halves of the sum stay below 2^31.
    Ints scale_bits;
    Floats scale;
    reinterpret(scale_bits, largest);
    scale_bits = ((2 * 127 + kPlaces) << kFloatPlaces) - scale_bits;
    reinterpret(scale, scale_bits);
    Ints low = __builtin_convertvector(c * scale, Ints), high{};  // conversions cut towards zero
    for (std::size_t k = 0; k < kWgmmaDepth; ++k) {
      Floats term;
      load(term, b_ + k * n_ + column);
      term *= a[k];
      term *= scale;
      (k < kWgmmaDepth / 2 ? low : high) += __builtin_convertvector(term, Ints);
    }
    Doubles sum = __builtin_convertvector(low, Doubles) + __builtin_convertvector(high, Doubles);
    sum *= __builtin_convertvector(largest, Doubles) * (1.0 / (1 << kPlaces));
    Longs bits;
    reinterpret(bits, sum);
    bits &= ~((std::int64_t{1} << (52 - kFloatPlaces)) - 1);  // towards zero
    reinterpret(sum, bits);
    const Floats result = __builtin_convertvector(sum, Floats);
    std::memcpy(out, &result, sizeof result);
    return true;
  }

  [[gnu::noinline]] void add_one_by_one(float* out, std::size_t row, std::size_t column) const {
    for (std::size_t j = column; j < column + kLanes; ++j, ++out) {
      Sum sum;
      for (std::size_t k = 0; k < kWgmmaDepth; ++k) {
        const double product = double{a_[row * kWgmmaDepth + k]} * double{b_[k * n_ + j]};
        sum.add(product,
                exponent_of(power_a_[row * kWgmmaDepth + k]) + exponent_of(power_b_[k * n_ + j]));
      }
      sum.add(*out, exponent_of(power_of(*out, 0x1p-126F)));
      *out = std::bit_cast<float>(sum.bits());
    }
  }

  const float* a_;
  const float* b_;
  std::size_t n_;
  bool finite_b_ = true;
  float power_a_[kWgmmaRows * kWgmmaDepth] = {};
  float power_b_[kWgmmaDepth * kWgmmaColumns] = {};
};

void add_plain(const Product& product, float* d) {
  product.add_to(d);
}
#if defined(__x86_64__)
[[gnu::target("avx2")]] void add_avx2(const Product& product, float* d) {
  product.add_to(d);
}
#endif

}  // namespace

void multiply(float* d, const float* a, const float* b, std::uint32_t n, bool fp16) {
  const Product product(a, b, n, fp16);
#if defined(__x86_64__)
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kAvx2) return add_avx2(product, d);
#endif
  add_plain(product, d);
}

}  // namespace wgrad::emu
