// Field faults C: alignment of token counts, widths, strides and pointers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <thread>

#include "bench/token_counts.hpp"
#include "support/field_faults.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad::test {
namespace {

const std::vector<const char*> kBlockScaled = {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp8_e4m3_e5m2",
                                               "mxfp4", "nvfp4"};

TEST_P(ScaledFieldFaults, F034_CountsOfNoMultiple) {
  for (const char* format : kBlockScaled) {
    for (const Case& c : variants(format, 40, 24, {44, 100, 1, 44, 90})) ASSERT_TRUE(conforms(c));
  }
  for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2"}) {
    for (const Case& c : variants(format, 16, 16, {16333 / 2, 0, 16333 - 16333 / 2})) {
      ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(ScaledFieldFaults, F035_SplitsThatAreNoMultipleOf32) {
  for (const char* format : kBlockScaled) {
    for (const auto& counts :
         std::vector<std::vector<std::int64_t>>{{1000, 1048}, {1048, 1000}, {1022, 1026}}) {
      for (const Case& c : variants(format, 24, 24, counts)) ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(ScaledFieldFaults, F036_TwoThreadsShareNothing) {
  // Counts below 128 and empty experts, one executable, two callers at once.
  const Case c = case_of("nvfp4", 136, 72, {128, 0, 64});
  const CaseData data(c);
  const Bytes want = oracle_output(data);
  const Executable executable =
      prepare(problem(c), GetParam().device, {.backend = GetParam().backend});
  const auto repeat = [&](Bytes& out) {
    Instance instance(data, GetParam().memory);
    for (int i = 0; i < 10; ++i) {
      instance.reset_output();
      executable.run(instance.operands());
    }
    out = instance.output();
  };
  Bytes first;
  Bytes second;
  {
    const std::jthread other([&] { repeat(second); });
    repeat(first);
  }
  ASSERT_TRUE(same_image(data, first, want));
  ASSERT_TRUE(same_image(data, second, want));
}

TEST_P(FieldFaults, F037_TheDocumentedMinimumIsOneToken) {
  for (const char* format : {"bf16", "mxfp8_e4m3", "nvfp4"}) {
    for (const Case& c : variants(format, 40, 24, {32, 96, 160, 224})) ASSERT_TRUE(conforms(c));
    for (const Case& c : variants(format, 40, 24, {1, 1, 1, 1, 1})) ASSERT_TRUE(conforms(c));
  }
}

TEST_P(FieldFaults, F038_ManyFineGrainedExpertsWithoutPadding) {
  const bench::Shape shape{"fine-grained", 256, 64, 24, 10240, bench::Distribution::kZipf};
  for (const char* format : {"bf16", "mxfp8_e4m3", "nvfp4"}) {
    ASSERT_TRUE(conforms(case_of(format, shape.m, shape.n, bench::token_counts(shape, 3))));
  }
}

TEST_P(FieldFaults, F040_OnlyTheContiguousAxisIsAligned) {
  const Case c = case_of("bf16", 40, 24, {5, 8});  // 13 token rows of 40 and 24 features
  ASSERT_EQ(tokens(c), 13);
  ASSERT_TRUE(conforms(c));
}

TEST_P(FieldFaults, F041_WidthsAreExactOrRefused) {
  for (const std::int64_t n : {1, 2, 4, 7, 8, 43, 100, 1540}) {
    for (const DType dtype : {DType::kBf16, DType::kF32}) {
      Case c = case_of("bf16", 38, n, {33, 0, 17});
      c.problem.wgrad_dtype = dtype;
      const std::int64_t bytes = n * bits(dtype) / 8;
      if (bytes % 16 == 0) {
        ASSERT_TRUE(conforms(c));
      } else {
        ASSERT_EQ(refusal(c).find("wgrad: n is " + std::to_string(n) + " ("), 0U) << refusal(c);
      }
      c.problem.wgrad_row_pitch = (n + 7) / 8 * 8;  // canaries lie in the rest of each row
      ASSERT_TRUE(conforms(c));
    }
  }
  ASSERT_TRUE(conforms(case_of("bf16", 1638, 96, {40, 3})));
}

TEST_P(FieldFaults, F042_WorkspaceAndScalesAtSmallAlignments) {
  const auto shifted = [](Bytes bytes, std::int64_t shift) {
    bytes.insert(bytes.begin(), static_cast<std::size_t>(shift), 0xFF);
    bytes.resize((bytes.size() + 255) / 256 * 256, 0xFF);
    return bytes;
  };
  for (const char* format : {"bf16", "mxfp8_e4m3"}) {
    if (!runs(format)) continue;
    const Case c = case_of(format, 144, 80, {100, 0, 37});
    if (!computes(c)) continue;
    const CaseData data(c);
    const Bytes want = oracle_output(data);
    const Executable executable =
        prepare(problem(c), GetParam().device, {.backend = GetParam().backend});
    const bool scaled = !data.sfa.bytes.empty();
    for (const std::int64_t shift : {16, 32, 64, 128}) {
      const Buffer sfa(GetParam().memory, shifted(data.sfa.bytes, shift));
      const Buffer sfb(GetParam().memory, shifted(data.sfb.bytes, shift));
      const Bytes dirty(static_cast<std::size_t>(executable.workspace_bytes()), 0xA5);
      const Buffer workspace(GetParam().memory, shifted(dirty, shift));
      Instance instance(data, GetParam().memory);
      if (scaled) {
        instance.operands().sfa = static_cast<const std::uint8_t*>(sfa.data()) + shift;
        instance.operands().sfb = static_cast<const std::uint8_t*>(sfb.data()) + shift;
      }
      instance.operands().workspace = static_cast<std::uint8_t*>(workspace.data()) + shift;
      instance.operands().workspace_bytes = workspace.bytes() - shift;
      executable.run(instance.operands());
      ASSERT_TRUE(same_image(data, instance.output(), want)) << format << " shift " << shift;
    }
  }
}

TEST_P(FieldFaults, F043_MisalignedStorageIsRefusedBeforeWork) {
  Case c = case_of("bf16", 40, 24, {50});
  const auto shift = [](const void* p) { return static_cast<const std::uint8_t*>(p) + 2; };
  EXPECT_NE(refusal(c, [&](Operands& o) { o.a = shift(o.a); }).find("; it must be aligned to 16"),
            std::string::npos);
  EXPECT_NE(refusal(c, [&](Operands& o) { o.b = shift(o.b); }).find("wgrad: b is at address"),
            std::string::npos);
  EXPECT_NE(refusal(c, [](Operands& o) { o.wgrad = static_cast<std::uint8_t*>(o.wgrad) + 2; })
                .find("wgrad: wgrad is at address"),
            std::string::npos);
  // Tokens contiguous, 1025 of them: rows of 2050 bytes.
  c.problem.a_major = Major::kK;
  c.counts = {1025};
  EXPECT_EQ(refusal(c, [](Operands& o) { o.a_ld = 1025; }),
            "wgrad: a_ld is 1025 elements (2050 bytes); it must be a multiple of 16 "
            "bytes: pad the contiguous axis");
  ASSERT_TRUE(conforms(c)) << "rows padded to 1032";
}

/// Quantises float rows and puts the codes where a case's own random ones would have been.
void take_quantized(LogicalOperand& o, const std::vector<float>& source, std::int64_t all_tokens) {
  std::vector<std::int32_t> ends(o.begins.begin() + 1, o.begins.end());
  const QuantizedOperand q = quantize_along_tokens(
      source, o.rows, all_tokens, all_tokens, 1, ends,
      {.format = Format::kMxfp8, .element = o.dtype, .layout = ScaleLayout::kCompact});
  for (std::int64_t row = 0; row < o.rows; ++row) {
    for (std::int64_t t = 0; t < o.tokens(); ++t) {
      o.code(row, t) = q.elements[row * all_tokens + t];
    }
  }
  o.scale_codes.assign(q.scales.begin(), q.scales.end());
}

TEST_P(ScaledFieldFaults, F047_StaleRowsDoNotEnterAmaxOrScales) {
  constexpr std::int64_t kSlack = 58;
  Case c = case_of("mxfp8_e4m3", 8, 16, {5743, 5743});
  c.slack = kSlack;
  c.problem.wgrad_dtype = DType::kF32;
  const std::int64_t all = tokens(c);
  const auto with_stale_value = [&](float stale) {
    c.adjust = [=](LogicalData& data) {
      for (LogicalOperand* o : {&data.a, &data.b}) {
        std::vector<float> source(static_cast<std::size_t>(o->rows * all), stale);
        for (std::int64_t row = 0; row < o->rows; ++row) {
          for (std::int64_t t = 0; t < o->tokens(); ++t) {
            source[row * all + t] = 0.8F * std::sin(static_cast<float>(row * 31 + t));
          }
        }
        take_quantized(*o, source, all);
      }
    };
    return run(c);
  };
  const Result clean = with_stale_value(0.0F);
  ASSERT_TRUE(with_stale_value(1e30F).same_cells(clean));
  ASSERT_TRUE(clean.finite());
  // Against the unquantised product: e4m3 rounds to 2^-4 of each factor, so to 1/7 of sum|ab|; no
  // block peaks in (7/8, 1), where the MX scale rule would saturate.
  for (std::size_t e = 0; e < 2; ++e) {
    double exact = 0;
    double magnitude = 0;
    for (std::int64_t t = 5743 * static_cast<std::int64_t>(e);
         t < 5743 * static_cast<std::int64_t>(e + 1); ++t) {
      const double product = 0.64 * std::sin(3.0 * 31 + static_cast<double>(t)) *
                             std::sin(9.0 * 31 + static_cast<double>(t));
      exact += product;
      magnitude += std::abs(product);
    }
    ASSERT_NEAR(clean.value(e, 3, 9), exact, magnitude / 7);
  }
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();
WGRAD_SCALED_FIELD_FAULTS();

}  // namespace
}  // namespace wgrad::test
