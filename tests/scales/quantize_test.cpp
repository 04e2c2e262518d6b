#include "wgrad/quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "scales/codec.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Input {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  bool token_major = false;
  std::vector<std::int32_t> offsets;
  std::vector<float> data;

  std::int64_t row_stride() const { return token_major ? 1 : tokens; }
  std::int64_t token_stride() const { return token_major ? rows : 1; }
  float& at(std::int64_t r, std::int64_t t) { return data[r * row_stride() + t * token_stride()]; }
  float at(std::int64_t r, std::int64_t t) const {
    return data[r * row_stride() + t * token_stride()];
  }
};

/// Random values over a wide range of magnitudes; NaN in every token past the last offset.
Input random_input(std::int64_t rows, std::vector<std::int32_t> offsets, std::int64_t tokens,
                   bool token_major, unsigned seed) {
  Input in{rows, tokens, token_major, std::move(offsets), {}};
  in.data.assign(static_cast<std::size_t>(rows * tokens), kNan);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t t = 0; t < in.offsets.back(); ++t) {
      in.at(r, t) = std::ldexp(normal(random), static_cast<int>(random() % 24) - 12);
    }
  }
  return in;
}

QuantizedOperand quantize(const Input& in, const QuantizeSpec& spec) {
  return quantize_along_tokens(in.data, in.rows, in.tokens, in.row_stride(), in.token_stride(),
                               in.offsets, spec);
}

int vec_size(const QuantizeSpec& spec) {
  return spec.format == Format::kNvfp4 ? 16 : 32;
}

DType element(const QuantizeSpec& spec) {
  return spec.format == Format::kMxfp8 ? spec.element : DType::kE2m1;
}

/// Reads one element code of a result by its own index arithmetic.
unsigned stored_code(const QuantizedOperand& q, const Input& in, const QuantizeSpec& spec,
                     std::int64_t begin, std::int64_t end, std::int64_t r, std::int64_t t) {
  std::int64_t index = spec.major == Major::kMn ? t * in.rows + r : r * in.tokens + t;
  if (spec.major == Major::kK && spec.input_order == InputOrder::kTensorRagged) {
    index = in.rows * begin + r * (end - begin) + (t - begin);
  }
  if (element(spec) != DType::kE2m1) return q.elements[index];
  return index % 2 == 0 ? q.elements[index / 2] & 0xFU : q.elements[index / 2] >> 4U;
}

/// Compact copy of a result's scales.
std::vector<std::uint8_t> compact_scales(const QuantizedOperand& q, const Input& in,
                                         const QuantizeSpec& spec) {
  if (spec.layout == ScaleLayout::kCompact) return q.scales;
  const std::int64_t cols = scale_cols(in.offsets, vec_size(spec), ScaleLayout::kCompact);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(in.rows * cols));
  unswizzle_scales(q.scales, in.rows, in.offsets, vec_size(spec), out);
  return out;
}

/// |value - x| is the least among all finite codes, ties to the even code.
void expect_nearest(DType dtype, unsigned code, double x) {
  const double value = scales::decode(dtype, code);
  ASSERT_TRUE(std::isfinite(value));
  const double error = std::abs(value - x);
  const unsigned codes = dtype == DType::kE2m1 ? 16 : 256;
  for (unsigned other = 0; other < codes; ++other) {
    const double other_error = std::abs(scales::decode(dtype, other) - x);
    if (!(other_error <= error)) continue;  // NaN and infinity too
    ASSERT_NEAR(other_error, error, 1e-6 * std::abs(x)) << "code " << code << " for " << x;
    if (dtype != DType::kE2m1 && other_error == error && scales::decode(dtype, other) != value) {
      ASSERT_EQ(code % 2, 0U) << "tie at " << x;
    }
  }
}

std::uint8_t expected_scale(const QuantizeSpec& spec, double amax, double global) {
  if (amax == 0) return 0;
  if (spec.format == Format::kNvfp4) {
    return static_cast<std::uint8_t>(
        scales::encode<scales::kE4m3Format>(amax / 6.0 / global, scales::Overflow::kSaturate));
  }
  const DType dtype = element(spec);
  const int largest = dtype == DType::kE4m3 ? 8 : dtype == DType::kE5m2 ? 15 : 2;
  const double most = dtype == DType::kE4m3 ? 448 : dtype == DType::kE5m2 ? 57344 : 6;
  const double exponent = spec.scaling_mode == ScalingMode::kRceil
                              ? std::ceil(std::log2(amax / most))
                              : std::floor(std::log2(amax)) - largest;
  return static_cast<std::uint8_t>(std::max(exponent, -127.0) + 127);
}

void check_block(const QuantizedOperand& q, const Input& in, const QuantizeSpec& spec,
                 std::size_t e, std::int64_t begin, std::int64_t end, std::int64_t r,
                 std::int64_t block, std::uint8_t scale) {
  const double global = spec.format == Format::kNvfp4 ? q.global_scales[e] : 1.0;
  const std::int64_t first = begin + block * vec_size(spec);
  const std::int64_t last = std::min<std::int64_t>(first + vec_size(spec), end);
  double amax = 0;
  for (std::int64_t t = first; t < last; ++t) {
    amax = std::max(amax, std::abs(double{in.at(r, t)}));
  }
  ASSERT_EQ(scale, expected_scale(spec, amax, global)) << "expert " << e << " row " << r;
  const double factor =
      scales::decode(spec.format == Format::kNvfp4 ? DType::kE4m3 : DType::kE8m0, scale) * global;
  for (std::int64_t t = first; t < last; ++t) {
    const unsigned code = stored_code(q, in, spec, begin, end, r, t);
    if (factor == 0) {
      ASSERT_EQ(code, 0U);
    } else {
      expect_nearest(element(spec), code, in.at(r, t) / factor);
    }
  }
}

void check_result(const Input& in, const QuantizeSpec& spec) {
  const QuantizedOperand q = quantize(in, spec);
  ASSERT_EQ(q.scale_cols, scale_cols(in.offsets, vec_size(spec), spec.layout));
  ASSERT_EQ(static_cast<std::int64_t>(q.scales.size()),
            scale_bytes(in.rows, q.scale_cols, spec.layout));
  const auto scales = compact_scales(q, in, spec);
  const std::int64_t cols = scale_cols(in.offsets, vec_size(spec), ScaleLayout::kCompact);
  std::int64_t begin = 0;
  std::int64_t first_col = 0;
  for (std::size_t e = 0; e < in.offsets.size(); ++e) {
    const std::int64_t end = in.offsets[e];
    const std::int64_t blocks = ceil_div(end - begin, vec_size(spec));
    for (std::int64_t r = 0; r < in.rows; ++r) {
      for (std::int64_t b = 0; b < blocks; ++b) {
        check_block(q, in, spec, e, begin, end, r, b, scales[r * cols + first_col + b]);
      }
    }
    begin = end;
    first_col += blocks;
  }
}

const std::vector<std::int32_t> kOffsets = {0, 38, 38, 104, 230, 231};

void check_both_sources(const QuantizeSpec& spec) {
  for (const bool token_major : {false, true}) {
    check_result(random_input(45, kOffsets, 240, token_major, 11), spec);
  }
}

TEST(Quantize, Mxfp8EveryLayout) {
  for (const DType dtype : {DType::kE4m3, DType::kE5m2})
    for (const Major major : {Major::kK, Major::kMn})
      for (const InputOrder order : {InputOrder::kTensor2d, InputOrder::kTensorRagged})
        for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
          check_both_sources({Format::kMxfp8, dtype, major, order, layout, 0xFF});
        }
}

TEST(Quantize, Fp4EveryLayout) {
  for (const Format format : {Format::kMxfp4, Format::kNvfp4})
    for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
      check_both_sources({format, DType::kE2m1, Major::kK, InputOrder::kTensor2d, layout, 0xFF});
    }
}

TEST(Quantize, RaggedFp4PacksEachExpertsRows) {
  const QuantizeSpec spec{Format::kMxfp4,
                          DType::kE2m1,
                          Major::kK,
                          InputOrder::kTensorRagged,
                          ScaleLayout::kSwizzled,
                          0};
  check_result(random_input(33, {6, 6, 40, 138}, 140, true, 5), spec);
}

TEST(Quantize, RceilTakesTheLeastScaleUnderWhichNothingSaturates) {
  for (const auto& [format, dtype] :
       {std::pair{Format::kMxfp8, DType::kE4m3}, std::pair{Format::kMxfp8, DType::kE5m2},
        std::pair{Format::kMxfp4, DType::kE2m1}}) {
    QuantizeSpec spec{.format = format, .element = dtype};
    spec.scaling_mode = ScalingMode::kRceil;
    check_both_sources(spec);
    const float most = dtype == DType::kE4m3 ? 448.0F : dtype == DType::kE5m2 ? 57344.0F : 6.0F;
    Input in{3, 32, false, {32}, std::vector<float>(96, 0.0F)};
    in.at(0, 0) = most;                        // fits under 2^0
    in.at(1, 0) = std::nextafter(most, kInf);  // does not
    in.at(2, 0) = std::numeric_limits<float>::denorm_min();
    const QuantizedOperand q = quantize(in, spec);
    const auto scales = compact_scales(q, in, spec);
    EXPECT_EQ(scales[0], 127);
    EXPECT_EQ(scales[1], 128);
    EXPECT_EQ(scales[2], 0) << "clamped";
    spec.scaling_mode = ScalingMode::kFloor;
    EXPECT_EQ(compact_scales(quantize(in, spec), in, spec)[1], 127) << "saturates";
  }
}

TEST(Quantize, RceilIsRefusedForNvfp4) {
  QuantizeSpec spec{.format = Format::kNvfp4, .element = DType::kE2m1};
  spec.scaling_mode = ScalingMode::kRceil;
  try {
    quantize(random_input(8, {32}, 32, false, 1), spec);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "wgrad: scaling_mode is rceil; it must be left out for NVFP4, whose "
                 "scales are no powers of two");
  }
}

TEST(Quantize, ManyRowsOnSeveralThreads) {
  const QuantizeSpec spec{Format::kNvfp4,        DType::kE2m1,           Major::kK,
                          InputOrder::kTensor2d, ScaleLayout::kSwizzled, 0xFF};
  check_result(random_input(1000, {100, 300}, 300, true, 3), spec);
}

TEST(Quantize, ScalePaddingIsTheByteAskedForAndNothingElse) {
  const Input in = random_input(100, {40, 40, 47}, 64, false, 2);
  QuantizeSpec spec{.format = Format::kMxfp8, .element = DType::kE4m3};
  spec.scale_padding = 0xFF;
  const auto poisoned = quantize(in, spec).scales;
  spec.scale_padding = 0x00;
  const auto zeroed = quantize(in, spec).scales;
  std::size_t padding = 0;
  for (std::size_t i = 0; i < poisoned.size(); ++i) {
    if (poisoned[i] == zeroed[i]) continue;
    ASSERT_EQ(poisoned[i], 0xFF);
    ASSERT_EQ(zeroed[i], 0x00);
    ++padding;
  }
  EXPECT_EQ(padding, poisoned.size() - std::size_t{100} * (2 + 0 + 1));
}

TEST(Quantize, SlackTokensBecomeZeroElements) {
  const Input in = random_input(8, {10}, 32, false, 4);
  const auto q = quantize(in, {.format = Format::kMxfp8, .element = DType::kE5m2});
  for (std::int64_t r = 0; r < 8; ++r) {
    for (std::int64_t t = 10; t < 32; ++t) ASSERT_EQ(q.elements[r * 32 + t], 0);
  }
}

TEST(Quantize, Nvfp4GlobalScalesFollowEachExpertsPeak) {
  Input in = random_input(16, {32, 64, 64, 96}, 96, false, 9);
  for (std::int64_t r = 0; r < 16; ++r) {
    for (std::int64_t t = 0; t < 32; ++t) in.at(r, t) = 0;
    for (std::int64_t t = 32; t < 64; ++t) in.at(r, t) = std::clamp(in.at(r, t), -5.0F, 5.0F);
    for (std::int64_t t = 64; t < 96; ++t) in.at(r, t) = std::clamp(in.at(r, t), -5.0F, 5.0F);
  }
  in.at(3, 40) = -2688.0F;
  in.at(7, 95) = 1e-3F * 2688.0F * 4;
  const auto q = quantize(in, {.format = Format::kNvfp4, .element = DType::kE2m1});
  EXPECT_EQ(q.global_scales, (std::vector<float>{1.0F, 1.0F, 1.0F, 1e-3F * 2688.0F * 4 / 2688.0F}));
  EXPECT_EQ(q.elements[3 * 48 + 20] & 0xFU, 0xFU) << "-6 at the expert's peak";
}

TEST(Quantize, AZeroExpertIsZeroWithoutAnInfiniteOrNanScale) {
  Input in = random_input(4, {32}, 32, false, 1);
  for (float& v : in.data) v = 0;
  for (const Format format : {Format::kMxfp4, Format::kNvfp4}) {
    const auto q = quantize(in, {.format = format, .element = DType::kE2m1});
    for (const std::uint8_t byte : q.elements) ASSERT_EQ(byte, 0);
    for (const std::uint8_t byte : q.scales) ASSERT_EQ(byte, 0);
    for (const float g : q.global_scales) ASSERT_EQ(g, 1.0F);
  }
}

TEST(Quantize, ANanOrInfinityMarksItsBlockOnly) {
  for (const float bad : {kNan, kInf, -kInf}) {
    for (const Format format : {Format::kMxfp8, Format::kMxfp4, Format::kNvfp4}) {
      Input in = random_input(4, {64}, 64, false, 6);
      in.at(2, 33) = bad;
      const DType dtype = format == Format::kMxfp8 ? DType::kE4m3 : DType::kE2m1;
      const QuantizeSpec spec{.format = format, .element = dtype, .layout = ScaleLayout::kCompact};
      const auto q = quantize(in, spec);
      const int vec = vec_size(spec);
      const std::uint8_t nan = format == Format::kNvfp4 ? 0x7F : 0xFF;
      for (std::int64_t r = 0; r < 4; ++r) {
        for (std::int64_t c = 0; c < 64 / vec; ++c) {
          const bool marked = r == 2 && c == 33 / vec;
          ASSERT_EQ(q.scales[r * (64 / vec) + c] == nan, marked) << "row " << r << " col " << c;
        }
      }
      for (const float g : q.global_scales) ASSERT_TRUE(std::isfinite(g) && g > 0);
    }
  }
}

TEST(Quantize, ExtremeMagnitudesStayFinite) {
  for (const float amax : {std::numeric_limits<float>::denorm_min(), 1e-40F, 1e-36F,
                           std::numeric_limits<float>::max()}) {
    for (const Format format : {Format::kMxfp8, Format::kMxfp4, Format::kNvfp4}) {
      Input in = random_input(1, {32}, 32, false, 6);
      for (float& v : in.data) v = amax;
      const DType dtype = format == Format::kMxfp8 ? DType::kE5m2 : DType::kE2m1;
      check_result(in, {.format = format, .element = dtype});
    }
  }
}

std::string message(const Input& in, const QuantizeSpec& spec) {
  return test::refusal<ValueError>([&] { quantize(in, spec); });
}

TEST(Quantize, RefusesInWords) {
  Input in = random_input(4, {10, 32}, 32, false, 6);
  const QuantizeSpec fp8{.format = Format::kMxfp8, .element = DType::kE4m3};
  QuantizeSpec fp4{.format = Format::kNvfp4, .element = DType::kE2m1};

  fp4.major = Major::kMn;
  EXPECT_EQ(message(in, fp4),
            "wgrad: major is MN-major; it must be K-major (tokens contiguous) for packed FP4");
  fp4.major = Major::kK;
  fp4.element = DType::kE4m3;
  EXPECT_EQ(message(in, fp4), "wgrad: element is float8_e4m3fn; it must be float4_e2m1fn_x2");
  fp4.element = DType::kE2m1;

  in.offsets = {11, 32};
  EXPECT_EQ(
      message(in, fp4),
      "wgrad: expert 1 is tokens 11 to 32; it must be a range that begins at an even token, for "
      "packed FP4");
  EXPECT_EQ(message(in, fp8), "no error");
  in.offsets = {20, 10};
  EXPECT_EQ(message(in, fp8),
            "wgrad: offsets[1] is 10; it must be from 20, the end of the expert before it, to T = "
            "32");
  in.offsets = {20, 33};
  EXPECT_EQ(message(in, fp8),
            "wgrad: offsets[1] is 33; it must be from 20, the end of the expert before it, to T = "
            "32");
  in.offsets = {20};
  in.data.pop_back();
  EXPECT_EQ(message(in, fp8),
            "wgrad: source is 127 elements long; it must be at least 128 elements long for its "
            "extents and strides");
  in.tokens = 31;
  EXPECT_EQ(message(in, fp4), "wgrad: tokens is 31; it must be even for packed FP4");
}

TEST(Quantize, RefusesRaggedFp4ExpertsOfOddCounts) {
  Input in = random_input(4, {10, 33, 64}, 64, false, 6);
  const QuantizeSpec spec{
      .format = Format::kMxfp4, .element = DType::kE2m1, .input_order = InputOrder::kTensorRagged};
  EXPECT_EQ(
      message(in, spec),
      "wgrad: expert 1 is tokens 10 to 33; it must be a range of even length that begins at an "
      "even token, for packed FP4");
}

TEST(Quantize, RefusesFormatsAndElementsThatItCannotWrite) {
  const Input in = random_input(4, {32}, 32, false, 6);
  EXPECT_EQ(message(in, {.format = Format::kSixteenBit, .element = DType::kBf16}),
            "wgrad: format is 16-bit; it must be MXFP8, MXFP4 or NVFP4");
  EXPECT_EQ(message(in, {.format = Format::kMxfp8, .element = DType::kE2m1}),
            "wgrad: element is float4_e2m1fn_x2; it must be float8_e4m3fn or float8_e5m2");
}

TEST(Quantize, RefusesValuesOfEnumerationsThatHaveNoName) {
  const Input in = random_input(4, {32}, 32, false, 6);
  EXPECT_EQ(message(in, {.format = Format(9)}),
            "wgrad: format is 9; it must be an enumerator, from 0 to 5");
  EXPECT_EQ(message(in, {.element = DType(9)}),
            "wgrad: element is 9; it must be an enumerator, from 0 to 6");
  EXPECT_EQ(message(in, {.major = Major(9)}),
            "wgrad: major is 9; it must be an enumerator, from 0 to 1");
  EXPECT_EQ(message(in, {.input_order = InputOrder(9)}),
            "wgrad: input_order is 9; it must be an enumerator, from 0 to 1");
  EXPECT_EQ(message(in, {.layout = ScaleLayout(9)}),
            "wgrad: layout is 9; it must be an enumerator, from 0 to 1");
  EXPECT_EQ(message(in, {.scaling_mode = ScalingMode(9)}),
            "wgrad: scaling_mode is 9; it must be an enumerator, from 0 to 1");
}

/// The message about a source of these extents and strides.
std::string message(std::int64_t rows, std::int64_t tokens, std::int64_t row_stride,
                    std::int64_t token_stride) {
  const std::vector<float> data(64);
  const std::vector<std::int32_t> offsets = {0};
  return test::refusal<ValueError>(
      [&] { quantize_along_tokens(data, rows, tokens, row_stride, token_stride, offsets, {}); });
}

TEST(Quantize, RefusesSourcesThatCannotBe) {
  EXPECT_EQ(message(-1, 4, 4, 1), "wgrad: rows is -1; it must be 0 or more");
  EXPECT_EQ(message(4, -2, 4, 1), "wgrad: tokens is -2; it must be 0 or more");
  EXPECT_EQ(message(4, 4, -4, 1), "wgrad: row_stride is -4; it must be 0 or more");
  EXPECT_EQ(message(4, 4, 4, -1), "wgrad: token_stride is -1; it must be 0 or more");
}

TEST(Quantize, RefusesExtentsAndStridesThatWrapAround) {
  const std::string needs_all =
      "wgrad: source is 64 elements long; it must be at least 9223372036854775807 elements long "
      "for its extents and strides";
  EXPECT_EQ(message(16, 64, INT64_MAX, INT64_MAX), needs_all) << "-78 as 64-bit sums wrap around";
  EXPECT_EQ(message(16, 5, 1, INT64_C(1) << 62U), needs_all) << "16";
  EXPECT_EQ(message(2, 2, INT64_MAX, 1), needs_all);
  EXPECT_EQ(message(INT64_MAX, 64, 0, 0),
            "wgrad: rows is 9223372036854775807; it must be at most 17592186044416 for 64 tokens");
  EXPECT_EQ(message(INT64_C(1) << 40U, INT64_C(1) << 40U, 0, 0),
            "wgrad: rows is 1099511627776; it must be at most 1024 for 1099511627776 tokens");
}

TEST(Quantize, WithoutTokensAnyNumberOfRowsIsNothing) {
  const std::vector<std::int32_t> offsets = {0, 0};
  const auto q = quantize_along_tokens({}, INT64_MAX, 0, 1, 1, offsets,
                                       {.format = Format::kNvfp4, .element = DType::kE2m1});
  EXPECT_TRUE(q.elements.empty());
  EXPECT_TRUE(q.scales.empty());
  EXPECT_EQ(q.global_scales, (std::vector<float>{1, 1}));
}

}  // namespace
}  // namespace wgrad
