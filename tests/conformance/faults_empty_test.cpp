// Field faults A: experts with zero tokens.
#include <gtest/gtest.h>

#include "support/field_faults.hpp"

namespace wgrad::test {
namespace {

const std::vector<const char*> kAllFormats = {"bf16",  "fp16",  "mxfp8_e4m3",     "mxfp8_e5m2",
                                              "mxfp4", "nvfp4", "mxfp8_e4m3_e5m2"};

TEST_P(FieldFaults, F001_EmptyExpertIsExactlyZero) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (const Case& c : variants(format, 128, 48, {162, 0, 2577 / 8, 446, 0, 83})) {
      const Result result = run(c);
      ASSERT_TRUE(result.all_cells(1, 0));
      ASSERT_TRUE(result.all_cells(4, 0));
      ASSERT_TRUE(result.matches_oracle());
    }
  }
}

TEST_P(FieldFaults, F003_EmptyExpertsAnywhereFinish) {
  const std::vector<std::vector<std::int64_t>> all_counts = {
      {128, 0, 128, 0}, {0, 128, 128, 128}, {128, 128, 128, 0},
      {0, 0, 0, 128},   {128, 0, 0, 0},     {0, 128, 0, 0, 0, 0, 128, 0}};
  for (const auto& counts : all_counts) {
    for (const Case& c : variants("bf16", 256, 256, counts)) ASSERT_TRUE(conforms(c));
  }
}

TEST_P(FieldFaults, F004_BlockScaledGroupsOfZero) {
  for (const auto& counts : std::vector<std::vector<std::int64_t>>{
           {448, 0, 448}, {0, 896}, {896, 0, 0, 0}, {0, 0, 300, 0, 596, 0}}) {
    for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "nvfp4"}) {
      for (const Case& c : variants(format, 128, 136, counts)) ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(FieldFaults, F005_NothingIsReadForAnEmptyGroup) {
  // 128 x 64 bf16 is four whole pages: the operands touch unmapped pages at both ends.
  for (const Case& c : variants("bf16", 128, 128, {0, 0, 0, 0, 0, 0, 0, 64})) {
    ASSERT_TRUE(conforms(c));
  }
  for (const Case& c : variants("bf16", 128, 128, {64, 0, 0, 0, 0, 0, 0, 0})) {
    ASSERT_TRUE(conforms(c));
  }
  for (const Case& c : variants("mxfp8_e4m3", 128, 128, {0, 0, 32, 0})) ASSERT_TRUE(conforms(c));
}

TEST_P(FieldFaults, F006_EmptyExpertsOverwriteNan) {
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete}) {
      Case c = case_of("bf16", 64, 64, {64, 0, 64});
      c.problem.wgrad_dtype = dtype;
      c.problem.output_mode = mode;
      const Result result = run(c);
      ASSERT_TRUE(result.all_cells(1, 0));
      ASSERT_TRUE(result.finite());
    }
  }
}

TEST_P(FieldFaults, F008_EmptyExpertsKeepWhatAccumulates) {
  // 7.0, and codes that any arithmetic would change: a NaN payload, -0, a subnormal.
  const std::pair<DType, std::vector<std::uint32_t>> starts[] = {
      {DType::kF32, {0x40E00000, 0x7FA5A5A5, 0x80000000, 0x00000001}},
      {DType::kBf16, {0x40E0, 0x7FA5, 0x8000, 0x0001}},
      {DType::kF16, {0x4700, 0x7D5A, 0x8000, 0x0001}}};
  for (const auto& [dtype, codes] : starts) {
    for (const std::uint32_t code : codes) {
      Case c = case_of("bf16", 32, 32, {32, 0, 32});
      c.problem.wgrad_dtype = dtype;
      c.start_code = code;
      ASSERT_TRUE(run(c).all_cells(1, 0));
      c.problem.accumulate = true;
      ASSERT_TRUE(run(c).all_cells(1, code));
    }
  }
}

TEST_P(FieldFaults, F009_NoTokensAtAllStillWritesZeros) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (Case c : variants(format, 40, 24, {0, 0, 0, 0})) {
      const Result overwritten = run(c);
      c.problem.accumulate = true;
      c.problem.wgrad_dtype = DType::kF32;
      c.start_code = 0x40E00000;
      const Result accumulated = run(c);
      for (std::size_t e = 0; e < 4; ++e) {
        ASSERT_TRUE(overwritten.all_cells(e, 0));
        ASSERT_TRUE(accumulated.all_cells(e, 0x40E00000));
      }
    }
  }
}

TEST_P(FieldFaults, F010_AnEmptyRankWithABufferOfSlack) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (Case c : variants(format, 40, 24, {0, 0, 0})) {
      c.slack = 256;
      const Result result = run(c);
      for (std::size_t e = 0; e < 3; ++e) ASSERT_TRUE(result.all_cells(e, 0));
    }
  }
}

TEST_P(FieldFaults, F011_StridesOfEmptyAndUnitAxesDoNotMatter) {
  const std::vector<std::int64_t> strides = {1, 7, 13, 224};
  for (const std::int64_t stride : strides) {
    for (const Case& c : variants("bf16", 224, 24, {0, 0})) {
      EXPECT_EQ(refusal(c, [stride](Operands& o) { o.a_ld = o.b_ld = stride; }), "");
    }
    Case one_row = case_of("bf16", 1, 8, {16});
    one_row.problem.a_major = Major::kK;  // one row of 16 tokens: its pitch means nothing
    EXPECT_EQ(refusal(one_row, [stride](Operands& o) { o.a_ld = stride; }), "");
    const Case one_token = case_of("bf16", 24, 8, {1});  // MN-major: one row of M
    EXPECT_EQ(refusal(one_token, [stride](Operands& o) { o.a_ld = stride; }), "");
  }
}

TEST_P(FieldFaults, F012_NeighboursOfAnEmptyExpertAreRight) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (const Case& c : variants(format, 64, 64, {256, 0, 512, 256})) ASSERT_TRUE(conforms(c));
  }
}

TEST_P(FieldFaults, F014_ManyZerosBetweenGroups) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (const Case& c : variants(format, 64, 64, {0, 0, 128, 0, 0, 0, 128, 0})) {
      ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(FieldFaults, F015_FewTokensWriteEveryElement) {
  for (const std::int64_t count : {1, 2, 7, 15, 17, 31, 33, 63, 65, 127}) {
    for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp4", "nvfp4"}) {
      if (!runs(format)) continue;
      for (const Case& c : variants(format, 40, 136, std::vector<std::int64_t>(5, count))) {
        ASSERT_TRUE(conforms(c));
      }
    }
  }
}

TEST_P(FieldFaults, F017_NullOperandsWithoutTokens) {
  for (const char* format : kAllFormats) {
    if (!runs(format)) continue;
    for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete}) {
      Case c = case_of(format, 40, 24, {0, 0, 0, 0});
      c.problem.output_mode = mode;
      const CaseData data(c);
      const Instance instance(data, GetParam().memory);
      EXPECT_EQ(instance.operands().a, nullptr);
      EXPECT_EQ(instance.operands().b, nullptr);
      EXPECT_EQ(instance.operands().sfa, nullptr);
      const Result result = run(c);
      for (std::size_t e = 0; e < 4; ++e) ASSERT_TRUE(result.all_cells(e, 0));
    }
  }
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();

}  // namespace
}  // namespace wgrad::test
