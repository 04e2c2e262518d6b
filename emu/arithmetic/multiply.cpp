#include "emu/arithmetic/multiply.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "emu/arithmetic/fused_sum.hpp"

namespace wgrad::emu {
namespace {

/// Binary places that are kept.
struct Places {
  int below_largest;  ///< of a term, below the largest exponent
  int of_result;      ///< of the sum, after its leading bit
};
constexpr int kFloatPlaces = FusedSum::kFloatPlaces;
constexpr Places kHalfPlaces = {25, kFloatPlaces};
constexpr Places kFp8Places = {13, 13};
constexpr std::uint32_t kExponentBits = 0x7f800000;

int exponent_of(float power) {
  return static_cast<int>(std::bit_cast<std::uint32_t>(power) >> kFloatPlaces) - 127;
}

using Floats = float __attribute__((vector_size(32)));
using Ints = std::int32_t __attribute__((vector_size(32)));
using Bits = std::uint32_t __attribute__((vector_size(32)));
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

/// One multiplication of depth kDepth.
template <std::size_t kDepth, Places kKept = kHalfPlaces>
class Product {
 public:
  Product(const MultiplyExtents& extents, const Factors& a, const Factors& b)
      : rows_(extents.rows), n_(extents.n), a_(a), b_(b) {
    finite_b_ = std::all_of(b.powers, b.powers + kDepth * n_,
                            [](float power) { return std::isfinite(power); });
  }

  [[gnu::always_inline]] inline void add_to(float* d) const {
    for (std::size_t row = 0; row < rows_; ++row) {
      const float* powers = a_.powers + row * kDepth;
      const bool finite = finite_b_ && std::all_of(powers, powers + kDepth,
                                                   [](float p) { return std::isfinite(p); });
      for (std::size_t column = 0; column < n_; column += kLanes) {
        float* out = d + row * n_ + column;
        if (finite && (add_lanes(out, row, column) || stays_zero(out, row, column))) continue;
        add_one_by_one(out, row, column);
      }
    }
  }

 private:
  static constexpr int kPlaces = kKept.below_largest;
  static constexpr std::size_t kTermsInside = 8;  // of a sum in 32 bits
  static constexpr std::size_t kParts = kDepth / kTermsInside;

  // False: a sum is out of the range of these vectors.
  [[gnu::always_inline]] inline bool add_lanes(float* out, std::size_t row,
                                               std::size_t column) const {
    const float* a = a_.values + row * kDepth;
    const float* power_a = a_.powers + row * kDepth;
    Floats c, largest;
    Ints c_bits;
    load(c, out);
    reinterpret(c_bits, c);
    c_bits &= static_cast<std::int32_t>(kExponentBits);
    reinterpret(largest, c_bits);
    for (std::size_t k = 0; k < kDepth; ++k) {
      Floats power;
      load(power, b_.powers + k * n_ + column);
      power *= power_a[k];
      largest = power > largest ? power : largest;
    }
    bool inside = true;
    for (std::uint32_t i = 0; i < kLanes; ++i) {
      inside = inside && largest[i] >= kLow && largest[i] <= kHigh;
    }
    if (!inside) return false;
    // 2^(places - e) of each lane. Parts of the sum stay below 2^31.
    Bits scale_bits;
    Floats scale;
    reinterpret(scale_bits, largest);
    scale_bits = ((2U * 127 + kPlaces) << kFloatPlaces) - scale_bits;
    reinterpret(scale, scale_bits);
    Ints parts[kParts] = {};
    parts[0] = __builtin_convertvector(c * scale, Ints);  // conversions cut towards zero
    for (std::size_t k = 0; k < kDepth; ++k) {
      Floats term;
      load(term, b_.values + k * n_ + column);
      term *= a[k];
      term *= scale;
      parts[k / kTermsInside] += __builtin_convertvector(term, Ints);
    }
    Doubles sum = __builtin_convertvector(parts[0], Doubles);
    for (std::size_t i = 1; i < kParts; ++i) sum += __builtin_convertvector(parts[i], Doubles);
    sum *= __builtin_convertvector(largest, Doubles) * (1.0 / (1 << kPlaces));
    Longs bits;
    reinterpret(bits, sum);
    bits &= ~((std::int64_t{1} << (52 - kKept.of_result)) - 1);  // towards zero
    reinterpret(sum, bits);
    const Floats result = __builtin_convertvector(sum, Floats);
    std::memcpy(out, &result, sizeof result);
    return true;
  }

  // Zeros all, and factors of which one is zero, as in rows past an operand's end: +0 stays.
  [[gnu::always_inline]] inline bool stays_zero(const float* out, std::size_t row,
                                                std::size_t column) const {
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < kLanes; ++i) any |= std::bit_cast<std::uint32_t>(out[i]);
    if (any != 0) return false;
    const auto is_zero = [](float power) { return power == 0; };
    const float* powers = a_.powers + row * kDepth;
    if (std::all_of(powers, powers + kDepth, is_zero)) return true;
    for (std::size_t k = 0; k < kDepth; ++k) {
      const float* of_columns = b_.powers + k * n_ + column;
      if (!std::all_of(of_columns, of_columns + kLanes, is_zero)) return false;
    }
    return true;
  }

  [[gnu::noinline]] void add_one_by_one(float* out, std::size_t row, std::size_t column) const {
    for (std::size_t j = column; j < column + kLanes; ++j, ++out) {
      FusedSum sum(kPlaces, kKept.of_result);
      for (std::size_t k = 0; k < kDepth; ++k) {
        const std::size_t i = row * kDepth + k;
        sum.add(double{a_.values[i]} * double{b_.values[k * n_ + j]},
                exponent_of(a_.powers[i]) + exponent_of(b_.powers[k * n_ + j]));
      }
      sum.add(*out, exponent_of(power_of(*out, 0x1p-126F)));
      *out = std::bit_cast<float>(sum.bits());
    }
  }

  std::size_t rows_;
  std::size_t n_;
  Factors a_;
  Factors b_;
  bool finite_b_ = true;
};

template <typename Of>
void add_plain(const Of& product, float* d) {
  product.add_to(d);
}
#if defined(__x86_64__)
template <typename Of>
[[gnu::target("avx2")]] void add_avx2(const Of& product, float* d) {
  product.add_to(d);
}
#endif

template <typename Of>
void add(const Of& product, float* d) {
#if defined(__x86_64__)
  static const bool kAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kAvx2) return add_avx2(product, d);
#endif
  add_plain(product, d);
}

}  // namespace

float power_of(float x, float least) {
  if (x == 0) return 0;
  return std::max(std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & kExponentBits), least);
}

void multiply(float* d, const MultiplyExtents& extents, const Factors& a, const Factors& b) {
  extents.depth == 16 ? add(Product<16>(extents, a, b), d) : add(Product<32>(extents, a, b), d);
}

void multiply_fp8(float* d, std::uint32_t rows, std::uint32_t n, const float* a, float least_a,
                  const float* b, float least_b) {
  thread_local std::vector<float> powers;
  powers.resize((rows + n) * kFp8Depth);
  float* powers_b = std::transform(a, a + rows * kFp8Depth, powers.data(),
                                   [&](float x) { return power_of(x, least_a); });
  std::transform(b, b + n * kFp8Depth, powers_b, [&](float x) { return power_of(x, least_b); });
  add(Product<kFp8Depth, kFp8Places>({rows, n, kFp8Depth}, {a, powers.data()}, {b, powers_b}), d);
}

void multiply(float* d, const float* a, const float* b, std::uint32_t rows, std::uint32_t n,
              bool fp16) {
  constexpr std::size_t kDepth = kWgmmaDepth;
  thread_local std::vector<float> powers;
  powers.resize((rows + n) * kDepth);
  const float least = fp16 ? 0x1p-14F : 0x1p-126F;
  const auto power = [&](float x) { return power_of(x, least); };
  float* powers_b = std::transform(a, a + rows * kDepth, powers.data(), power);
  std::transform(b, b + n * kDepth, powers_b, power);
  multiply(d, {rows, n, kDepth}, {a, powers.data()}, {b, powers_b});
}

}  // namespace wgrad::emu
