// Every code under every scale factor, against the codec of src/scales.
#include "wgrad/sm90_scaled/decode.cuh"

#include <gtest/gtest.h>

#include <cmath>

#include "emu/arithmetic/half.hpp"
#include "scales/codec.hpp"

namespace wgrad::device {
namespace {

constexpr DType dtype(ElementType t) {
  return t == ElementType::kE4m3   ? DType::kE4m3
         : t == ElementType::kE5m2 ? DType::kE5m2
                                   : DType::kE2m1;
}
constexpr u32 codes_of(ElementType t) {
  return t == ElementType::kE2m1 ? 16 : 256;
}

double bf16(u32 bits) {
  return emu::bf16_to_float(static_cast<u16>(bits));
}
double fp16(u32 bits) {
  return emu::fp16_to_float(static_cast<u16>(bits));
}

/// Equal bits but for NaN, of which there are many.
void expect_same(double got, double want, u32 code, u32 scale) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << code << " under " << scale;
    return;
  }
  EXPECT_EQ(got, want) << code << " under " << scale;
  EXPECT_EQ(std::signbit(got), std::signbit(want)) << code << " under " << scale;
}

/// Token of half `half` of pair `pair` in a word.
u32 token(bool packed, u32 pair, u32 half) {
  return packed ? pair / 2 * 4 + pair % 2 + half * 2 : pair * 2 + half;
}

template <ElementType kElement, ScaleType kScale>
void check_fast() {
  using D = Decoder<kElement, kScale>;
  constexpr u32 kWidth = D::kPacked ? 4 : 8;
  const DType scale_type = kScale == ScaleType::kE8m0 ? DType::kE8m0 : DType::kE4m3;
  u32 direct = 0;
  for (u32 scale = 0; scale < 256; ++scale) {
    if (!D::is_direct(scale)) continue;
    ++direct;
    const double factor = scales::decode(scale_type, scale);
    for (u32 code = 0; code < codes_of(kElement); ++code) {
      const u32 other = (code * 7 + 3) % codes_of(kElement);
      u32 word = 0;
      for (u32 t = 0; t < D::kTokensOfWord; ++t)
        word |= (t % 3 == 0 ? code : other) << (kWidth * t);
      if (!D::kPacked && (D::specials(word) & 0x80808080u) != 0) continue;
      u32 out[D::kPairsOfWord];
      D::pairs(word, D::multiplier(scale), out);
      for (u32 i = 0; i < 2 * D::kPairsOfWord; ++i) {
        const u32 bits = out[i / 2] >> (16 * (i % 2)) & 0xffff;
        const u32 c = token(D::kPacked, i / 2, i % 2) % 3 == 0 ? code : other;
        const double got = kScale == ScaleType::kE8m0 ? bf16(bits) : fp16(bits);
        expect_same(got, scales::decode(dtype(kElement), c) * factor, c, scale);
      }
    }
  }
  EXPECT_GE(direct, 130u);
}

TEST(Decode, E4m3) {
  check_fast<ElementType::kE4m3, ScaleType::kE8m0>();
}
TEST(Decode, E5m2) {
  check_fast<ElementType::kE5m2, ScaleType::kE8m0>();
}
TEST(Decode, E2m1UnderE8m0) {
  check_fast<ElementType::kE2m1, ScaleType::kE8m0>();
}
TEST(Decode, E2m1UnderE4m3) {
  check_fast<ElementType::kE2m1, ScaleType::kE4m3>();
}

template <ElementType kElement>
void check_specials() {
  using D = Decoder<kElement, ScaleType::kE8m0>;
  for (u32 code = 0; code < 256; ++code) {
    const bool finite = std::isfinite(scales::decode(dtype(kElement), code));
    for (u32 at = 0; at < 4; ++at)
      EXPECT_EQ((D::specials(code << (8 * at)) & 0x80808080u) == 0, finite) << code;
  }
}
TEST(Decode, FindsNanAndInfinity) {
  check_specials<ElementType::kE4m3>();
  check_specials<ElementType::kE5m2>();
}

template <ElementType kElement>
void check_exact() {
  using D = Decoder<kElement, ScaleType::kE8m0>;
  for (u32 scale = 0; scale < 256; ++scale) {
    if (!D::is_direct(scale)) continue;
    for (u32 code = 0; code < codes_of(kElement); ++code)
      expect_same(bf16(exact_bits(kElement, code, scale)),
                  scales::decode(dtype(kElement), code) * scales::decode(DType::kE8m0, scale), code,
                  scale);
  }
}
TEST(Decode, ElementByElement) {
  check_exact<ElementType::kE4m3>();
  check_exact<ElementType::kE5m2>();
  check_exact<ElementType::kE2m1>();
}

TEST(Decode, EachKeepsTheOrderOfPairs) {
  using D = Decoder<ElementType::kE2m1, ScaleType::kE8m0>;
  u32 out[4];
  D::each(
      0x76543210u, [](u32 code) { return code; }, out);
  EXPECT_EQ(out[0], 0x00020000u);
  EXPECT_EQ(out[1], 0x00030001u);
  EXPECT_EQ(out[2], 0x00060004u);
  EXPECT_EQ(out[3], 0x00070005u);
  using E = Decoder<ElementType::kE4m3, ScaleType::kE8m0>;
  u32 two[2];
  E::each(
      0x44332211u, [](u32 code) { return code; }, two);
  EXPECT_EQ(two[0], 0x00220011u);
  EXPECT_EQ(two[1], 0x00440033u);
}

/// The sum of an element's products over all renderings is the product, to FP32.
template <ElementType kA, ElementType kB>
void check_renderings() {
  const u32 of_a[] = {0,
                      1,
                      codes_of(kA) / 4 + 3,
                      codes_of(kA) / 2 - 4,
                      codes_of(kA) / 2 - 3,
                      codes_of(kA) / 2 - 2,
                      codes_of(kA) / 2 - 1,
                      codes_of(kA) - 4};
  for (u32 sa = 0; sa < 256; ++sa)
    for (u32 sb = 0; sb < 256; ++sb)
      for (const u32 a : of_a)
        for (const u32 b : {0u, 1u, codes_of(kB) / 4 + 1, codes_of(kB) / 2 - 4, codes_of(kB) - 2}) {
          float sum = 0;
          for (u32 r = 0; r < kRenderings; ++r)
            sum += static_cast<float>(bf16(rendered(kA, a, sa, rendering_of_a(r))) *
                                      bf16(rendered(kB, b, sb, rendering_of_b(r))));
          const double want = scales::decode(dtype(kA), a) * scales::decode(DType::kE8m0, sa) *
                              (scales::decode(dtype(kB), b) * scales::decode(DType::kE8m0, sb));
          const auto rounded = static_cast<float>(want);
          if (std::isnan(rounded)) {
            ASSERT_TRUE(std::isnan(sum)) << a << " " << sa << " " << b << " " << sb;
          } else {
            ASSERT_EQ(sum, rounded) << a << " " << sa << " " << b << " " << sb;
          }
        }
}
TEST(Renderings, EveryPairOnce) {
  check_renderings<ElementType::kE4m3, ElementType::kE4m3>();
  check_renderings<ElementType::kE5m2, ElementType::kE5m2>();
  check_renderings<ElementType::kE4m3, ElementType::kE5m2>();
  check_renderings<ElementType::kE5m2, ElementType::kE4m3>();
  check_renderings<ElementType::kE2m1, ElementType::kE2m1>();
}

}  // namespace
}  // namespace wgrad::device
