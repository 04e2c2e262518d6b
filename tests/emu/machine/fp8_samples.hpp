// Operands for finding out how a tensor core adds FP8, the same wherever they are drawn: host code
// that a CUDA program (bench/micro/wgmma_fp8.cu) and the emulator's tests share.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "harness/random.hpp"
#include "support/harness.hpp"

namespace wgrad::test {

/// One wgmma m64n8k32: d[64][8] = c[64][8] + a[64][32] * b[8][32]^T.
struct Fp8Sample {
  std::uint8_t a[64][32];
  std::uint8_t b[8][32];
  std::uint32_t c[64][8];
};

enum class Fp8Kind : std::uint8_t {
  kIntegers,  // every sum exact in 13 bits: layout errors show
  kBits,      // any finite bits, accumulators as large as the products
  kAnyBits,   // any bits of operands and accumulators
  kFewTerms,  // two products at most
  kNarrow,    // products of nearly one exponent: carries
  kZeroC,     // any finite bits, accumulators +0
  kLargeC,    // accumulators far above the products
  kSmallC,    // accumulators far below them
};
inline constexpr int kFp8Kinds = 8;
inline constexpr const char* kFp8KindNames[kFp8Kinds] = {
    "integers", "bits", "any bits", "few terms", "narrow", "zero c", "large c", "small c"};
inline constexpr int kFp8Samples = 120;  // of a kind

/// Which of e4m3 (0) and e5m2 (1) each operand is.
struct Fp8Pair {
  int a;
  int b;
};
inline constexpr Fp8Pair kFp8Pairs[] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};

class Fp8Drawer {
 public:
  Fp8Drawer(Fp8Kind kind, Fp8Pair pair, std::uint64_t number)
      : kind_(kind),
        pair_(pair),
        random_(number * 2654435761U + static_cast<std::uint64_t>(kind) * 40503U +
                static_cast<std::uint64_t>(pair.a * 2 + pair.b) * 7919U) {}

  Fp8Sample draw() {
    Fp8Sample s{};
    middle_ = static_cast<int>(random_.integer(2, 12));
    for (auto& row : s.a)
      for (int k = 0; k < 32; ++k) row[k] = code(pair_.a, k);
    for (auto& row : s.b)
      for (int k = 0; k < 32; ++k) row[k] = code(pair_.b, k);
    for (auto& row : s.c)
      for (auto& value : row) value = accumulator();
    return s;
  }

 private:
  std::uint8_t bits() { return static_cast<std::uint8_t>(random_.integer(0, 255)); }
  static bool is_finite(int e5m2, int magnitude) {
    return e5m2 != 0 ? magnitude < 0x7c : magnitude < 0x7f;
  }
  std::uint8_t finite(int e5m2) {
    for (;;) {
      const std::uint8_t code = bits();
      if (is_finite(e5m2, code & 0x7f)) return code;
    }
  }
  /// -3 .. 3
  std::uint8_t small_integer(int e5m2) {
    const int codes[2][4] = {{0, 0x38, 0x40, 0x44}, {0, 0x3c, 0x40, 0x42}};
    return static_cast<std::uint8_t>(codes[e5m2][random_.integer(0, 3)] |
                                     (random_.chance(0.5) ? 0x80 : 0));
  }
  std::uint8_t code(int e5m2, int k) {
    switch (kind_) {
      case Fp8Kind::kIntegers:
        return small_integer(e5m2);
      case Fp8Kind::kAnyBits:
        return random_.chance(0.02) ? bits() : finite(e5m2);
      case Fp8Kind::kFewTerms:
        return k % 16 < 1 || random_.chance(0.02) ? finite(e5m2) : std::uint8_t{0};
      case Fp8Kind::kNarrow: {
        const int places = e5m2 != 0 ? 2 : 3;
        const int field = (e5m2 != 0 ? 8 : 0) + middle_ + static_cast<int>(random_.integer(0, 1));
        return static_cast<std::uint8_t>(field << places | random_.integer(0, (1 << places) - 1) |
                                         (random_.chance(0.5) ? 0x80 : 0));
      }
      default:
        return finite(e5m2);
    }
  }
  std::uint32_t accumulator() {
    const auto fraction = static_cast<std::uint32_t>(random_.integer(0, 0x7fffff));
    const std::uint32_t sign = random_.chance(0.5) ? 0x80000000U : 0;
    const auto with = [&](int low, int high) {
      return sign | static_cast<std::uint32_t>(127 + random_.integer(low, high)) << 23 | fraction;
    };
    switch (kind_) {
      case Fp8Kind::kIntegers: {
        const auto value = static_cast<float>(random_.integer(-1000, 1000));
        std::uint32_t word = 0;
        std::memcpy(&word, &value, sizeof word);
        return word;
      }
      case Fp8Kind::kAnyBits:
        return random_.chance(0.5) ? with(-40, 40)
                                   : static_cast<std::uint32_t>(random_.integer(0, 0xffffffffLL));
      case Fp8Kind::kZeroC:
        return 0;
      case Fp8Kind::kLargeC:
        return with(25, 50);
      case Fp8Kind::kSmallC:
        return with(-60, -10);
      default:
        return with(-6, 20);
    }
  }

  Fp8Kind kind_;
  Fp8Pair pair_;
  Random random_;
  int middle_ = 0;
};

inline Fp8Sample fp8_sample(Fp8Kind kind, Fp8Pair pair, std::uint64_t number) {
  return Fp8Drawer(kind, pair, number).draw();
}

}  // namespace wgrad::test
