// Operands for finding out how a tensor core adds, the same wherever they are drawn: host code that
// a CUDA program (bench/micro/wgmma_rounding.cu) and the emulator's tests share.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "harness/random.hpp"
#include "support/harness.hpp"

namespace wgrad::test {

/// One wgmma m64n8k16: d[64][8] = c[64][8] + a[64][16] * b[8][16]^T.
struct WgmmaSample {
  std::uint16_t a[64][16];
  std::uint16_t b[8][16];
  std::uint32_t c[64][8];
};

enum class SampleKind : std::uint8_t {
  kIntegers,    // every sum exact: layout errors show
  kNormal,      // normally distributed
  kWide,        // exponents over 40 binary places
  kBits,        // any finite bits
  kAnyBits,     // any bits, infinities and NaNs too
  kCancel,      // two large products that cancel, tiny ones, a tiny accumulator
  kCancelC,     // a large product that cancels the accumulator
  kBoundary,    // powers of two around the last bits of the accumulator
  kFewTerms,    // one or two products and an accumulator
  kLargeParts,  // significands near 2: products in [2, 4), carries
  kSubnormal,   // results around 2^-126
  kOverflow,    // results around 2^128
  kSigned0,     // zeros of both signs
};
inline constexpr int kSampleKinds = 13;
inline constexpr const char* kSampleKindNames[kSampleKinds] = {
    "integers", "normal",    "wide",        "bits",      "any bits", "cancel",     "cancel with c",
    "boundary", "few terms", "large parts", "subnormal", "overflow", "signed zero"};

class SampleDrawer {
 public:
  SampleDrawer(SampleKind kind, bool fp16, std::uint64_t number)
      : kind_(kind),
        fp16_(fp16),
        random_(number * 2654435761U + static_cast<std::uint64_t>(kind) * 40503U + (fp16 ? 1 : 0)) {
  }

  WgmmaSample draw() {
    WgmmaSample s{};
    scale_ = static_cast<int>(random_.integer(-6, 6));
    for (auto& row : s.a)
      for (int k = 0; k < 16; ++k) row[k] = input(k, true);
    for (auto& row : s.b)
      for (int k = 0; k < 16; ++k) row[k] = input(k, false);
    for (auto& row : s.c)
      for (auto& value : row) value = accumulator();
    if (kind_ == SampleKind::kCancel) cancel(s);
    if (kind_ == SampleKind::kFewTerms) thin_out(s);
    if (kind_ == SampleKind::kCancelC) cancel_accumulator(s);
    return s;
  }

 private:
  int places() const { return fp16_ ? 10 : 7; }
  int least_exponent() const { return fp16_ ? -14 : -126; }

  // (-1)^sign * 1.fraction * 2^exponent, within the type's normal range.
  std::uint16_t make(bool negative, int exponent, std::uint32_t fraction) const {
    const int bias = fp16_ ? 15 : 127;
    const int most = fp16_ ? 15 : 127;
    exponent = exponent < least_exponent() ? least_exponent() : exponent > most ? most : exponent;
    return static_cast<std::uint16_t>((negative ? 1U << 15U : 0U) |
                                      static_cast<std::uint32_t>(exponent + bias) << places() |
                                      (fraction & ((1U << places()) - 1)));
  }
  static std::uint32_t make_float(bool negative, int exponent, std::uint32_t fraction) {
    if (exponent < -126) return (negative ? 1U << 31U : 0U) | (fraction & 0x7fffffU);
    if (exponent > 127) exponent = 127;
    return (negative ? 1U << 31U : 0U) | static_cast<std::uint32_t>(exponent + 127) << 23U |
           (fraction & 0x7fffffU);
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(random_.next() >> 32U); }
  bool coin() { return (random_.next() >> 40U & 1U) != 0; }
  int between(int low, int high) { return static_cast<int>(random_.integer(low, high)); }

  std::uint16_t of_int(int value) const {
    if (value == 0) return 0;
    int exponent = 0;
    const int magnitude = value < 0 ? -value : value;
    while (magnitude >> (exponent + 1) != 0) ++exponent;
    return make(value < 0, exponent,
                static_cast<std::uint32_t>(magnitude) << (places() - exponent));
  }

  std::uint16_t finite_bits() {
    std::uint16_t raw = static_cast<std::uint16_t>(bits());
    const std::uint16_t exponent = fp16_ ? 0x7c00 : 0x7f80;
    if ((raw & exponent) == exponent) raw = static_cast<std::uint16_t>(raw & ~0x4000U);
    return raw;
  }

  std::uint16_t input(int k, bool is_a) {
    switch (kind_) {
      case SampleKind::kIntegers:
        return of_int(between(-8, 8));
      case SampleKind::kNormal:
        return make(coin(), between(-3, 1), bits());
      case SampleKind::kWide:
        return make(coin(), between(-10, 10), bits());
      case SampleKind::kBits:
        return finite_bits();
      case SampleKind::kAnyBits:
        return static_cast<std::uint16_t>(bits());
      case SampleKind::kCancel:
      case SampleKind::kFewTerms:
        return make(coin(), between(-8, 0), coin() ? bits() : 0);
      case SampleKind::kCancelC:
        return make(coin(), between(-14, 0) + (is_a ? scale_ : 0), bits());
      case SampleKind::kBoundary:
        // One product near 1, the others powers of two near the 2^-24 of it.
        if (k == 0) return make(false, 0, is_a ? bits() : 0);
        return make(coin(), is_a ? between(-14, -8) : between(-14, -12), coin() ? 0 : bits());
      case SampleKind::kLargeParts:
        return make(coin(), between(-2, 2), bits() | (coin() ? 3U << (places() - 2) : 0U));
      case SampleKind::kSubnormal:
        if (fp16_)
          return coin() ? static_cast<std::uint16_t>(bits() & 0x83ffU) : make(coin(), -14, bits());
        return make(coin(), is_a ? between(-75, -60) : between(-75, -62), bits());
      case SampleKind::kOverflow:
        if (fp16_) return make(coin(), 15, bits() | 3U << 8U);
        return make(is_a && coin(), is_a ? between(61, 64) : between(61, 63), bits());
      case SampleKind::kSigned0:
        return between(0, 3) == 0 ? make(coin(), 0, 0)
                                  : static_cast<std::uint16_t>(coin() ? 0x8000 : 0);
    }
    return 0;
  }

  std::uint32_t accumulator() {
    switch (kind_) {
      case SampleKind::kIntegers: {
        const float value = static_cast<float>(between(-1000, 1000));
        std::uint32_t raw = 0;
        std::memcpy(&raw, &value, 4);
        return raw;
      }
      case SampleKind::kNormal:
        return make_float(coin(), between(-4, 6), bits());
      case SampleKind::kWide:
        return make_float(coin(), between(-25, 25), bits());
      case SampleKind::kBits: {
        const std::uint32_t raw = bits();
        return (raw & 0x7f800000U) == 0x7f800000U ? raw & ~0x40000000U : raw;
      }
      case SampleKind::kAnyBits:
        return between(0, 7) == 0 ? bits() | 0x7f800000U : bits();
      case SampleKind::kCancel:
        return make_float(coin(), between(-30, 0), bits());
      case SampleKind::kCancelC:
        return 0;
      case SampleKind::kBoundary:
        return make_float(coin(), between(-26, 3), coin() ? bits() : 0);
      case SampleKind::kFewTerms:
        return between(0, 3) == 0 ? 0 : make_float(coin(), between(-32, 12), coin() ? bits() : 0);
      case SampleKind::kLargeParts:
        return make_float(coin(), between(-3, 8), bits() | (coin() ? 7U << 20U : 0U));
      case SampleKind::kSubnormal:
        if (fp16_)
          return coin() ? bits() & 0x807fffffU : make_float(coin(), between(-60, -20), bits());
        return coin() ? bits() & 0x807fffffU : make_float(coin(), between(-127, -110), bits());
      case SampleKind::kOverflow:
        return make_float(coin(), fp16_ ? between(25, 40) : between(120, 127), bits());
      case SampleKind::kSigned0:
        return coin() ? 0x80000000U : between(0, 3) == 0 ? 0x3f800000U : 0;
    }
    return 0;
  }

  // Two columns of the sum become large and cancel exactly in every element.
  void cancel(WgmmaSample& s) {
    const int p = between(0, 15), q = (p + between(1, 15)) % 16, up = between(5, 15);
    for (auto& row : s.a) {
      row[p] = make(coin(), up, bits());
      row[q] = row[p];
    }
    for (auto& row : s.b) {
      row[p] = make(false, 0, bits());
      row[q] = static_cast<std::uint16_t>(row[p] | 0x8000U);
    }
  }

  void thin_out(WgmmaSample& s) {
    const int p = between(0, 15), q = between(0, 15);
    for (auto& row : s.a)
      for (int k = 0; k < 16; ++k)
        if (k != p && k != q) row[k] = 0;
  }

  // The accumulator is minus one of the products, perhaps off in its last bits.
  void cancel_accumulator(WgmmaSample& s) {
    for (int i = 0; i < 64; ++i) {
      for (int j = 0; j < 8; ++j) {
        const int p = between(0, 15);
        const float value = -to_float(s.a[i][p]) * to_float(s.b[j][p]);
        std::memcpy(&s.c[i][j], &value, 4);
        if (coin()) s.c[i][j] ^= static_cast<std::uint32_t>(between(0, 7));
      }
    }
  }

  float to_float(std::uint16_t raw) const {
    const int exponent = raw >> places() & (fp16_ ? 31 : 255);
    const float fraction = std::ldexp(
        1.0F + static_cast<float>(raw & ((1U << places()) - 1)) / static_cast<float>(1 << places()),
        exponent - (fp16_ ? 15 : 127));
    return (raw >> 15U) != 0 ? -fraction : fraction;
  }

  SampleKind kind_;
  bool fp16_;
  Random random_;
  int scale_ = 0;
};

/// The same sample for the same arguments, everywhere.
inline WgmmaSample wgmma_sample(SampleKind kind, bool fp16, std::uint64_t number) {
  return SampleDrawer(kind, fp16, number).draw();
}

/// Order-dependent digest (FNV-1a) of result words.
inline std::uint64_t digest_words(const std::uint32_t* words, std::size_t count,
                                  std::uint64_t seed) {
  std::uint64_t h = seed;
  for (std::size_t i = 0; i < count; ++i) {
    for (int byte = 0; byte < 4; ++byte) h = (h ^ (words[i] >> 8 * byte & 0xffU)) * 1099511628211U;
  }
  return h;
}
inline constexpr std::uint64_t kDigestSeed = 14695981039346656037U;

/// Samples of each kind and type that one run of bench/micro/wgmma_rounding takes.
inline constexpr int kSamplesOfKind = 120;

}  // namespace wgrad::test
