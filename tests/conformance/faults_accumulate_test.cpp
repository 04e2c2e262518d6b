// Field faults G: main_grad and accumulation semantics.
#include <gtest/gtest.h>

#include <cmath>

#include "support/field_faults.hpp"

namespace wgrad::test {
namespace {

/// Runs one executable `calls` times on one output and returns cell (0, 0) of expert 0.
double after_calls(const Target& target, const Case& c, int calls) {
  const CaseData data(c);
  const Executable executable = prepare(problem(c), target.device, {.backend = target.backend});
  const Instance instance(data, target.memory);
  for (int i = 0; i < calls; ++i) executable.run(instance.operands());
  return read_value(instance.output(), data.output.cell_offset(0, 0, 0), c.problem.wgrad_dtype);
}

/// One expert, `count` tokens, A all `a`, B all 1.
Case constant_case(const char* format, std::int64_t count, double a) {
  Case c;
  c.problem = problem_of(format_named(format), 8, 8);
  c.problem.wgrad_dtype = DType::kF32;
  c.problem.accumulate = true;
  c.counts = {count};
  c.data = DataKind::kOnes;
  c.adjust = [a](LogicalData& data) {
    for (std::int64_t row = 0; row < data.a.rows; ++row) {
      for (std::int64_t t = 0; t < data.a.tokens(); ++t) data.a.set(row, t, a);
    }
  };
  return c;
}

TEST_P(FieldFaults, F072_TheGradientHasTheParametersLayout) {
  for (const DType dtype : {DType::kBf16, DType::kF32}) {
    Case c = case_of("bf16", 16, 32, {3, 1});  // hidden 16, ffn 32, 4 tokens
    c.problem.wgrad_dtype = dtype;
    const Result result = run(c);
    for (std::size_t e = 0; e < 2; ++e) {
      for (std::int64_t i = 0; i < 16; ++i) {
        for (std::int64_t j = 0; j < 32; ++j) {
          double sum = 0;
          for (std::int64_t k = 0; k < c.counts[e]; ++k) {
            sum += result.data().logical.a.value(i, e, k) * result.data().logical.b.value(j, e, k);
          }
          ASSERT_EQ(result.value(e, i, j), sum);  // small integers: exact in bf16 too
        }
      }
    }
  }
}

TEST_P(FieldFaults, F073_EveryMicrobatchCounts) {
  Case c = constant_case("bf16", 4, 1.0);
  EXPECT_EQ(after_calls(GetParam(), c, 32), 32 * 4.0);
  c.problem.accumulate = false;
  EXPECT_EQ(after_calls(GetParam(), c, 32), 4.0) << "no state is left between calls";
}

TEST_P(FieldFaults, F073_AccumulateBelongsToEachOperator) {
  Case c = constant_case("bf16", 4, 1.0);
  Case overwrite = c;
  overwrite.problem.accumulate = false;
  const CaseData data(c);
  const Instance instance(data, GetParam().memory);
  const auto prepared = [this](const Case& which) {
    return prepare(problem(which), GetParam().device, {.backend = GetParam().backend});
  };
  const Executable add = prepared(c);
  const Executable set = prepared(overwrite);
  for (const Executable* step : {&set, &add, &add, &set, &add}) step->run(instance.operands());
  EXPECT_EQ(read_value(instance.output(), data.output.cell_offset(0, 0, 0), DType::kF32), 8.0);
}

TEST_P(FieldFaults, F074_OverwriteNeverReadsTheDestination) {
  for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
    for (const Poison poison : {Poison::kNan, Poison::kInfinity}) {
      for (const char* format : {"bf16", "mxfp8_e4m3", "nvfp4"}) {
        if (!runs(format)) continue;
        Case c = case_of(format, 72, 136, {40, 0, 600});
        c.problem.wgrad_dtype = dtype;
        c.start_code = poison_code(dtype, poison);
        const Result result = run(c);
        if (dtype != DType::kF16) {
          ASSERT_TRUE(result.finite());
        }
        ASSERT_TRUE(result.matches_oracle());
      }
    }
  }
}

TEST_P(FieldFaults, F076_TwoCallsIntoOneDestinationAdd) {
  EXPECT_EQ(after_calls(GetParam(), constant_case("fp16", 8, 0.5), 2), 8.0);
}

TEST_P(FieldFaults, F078_SmallAdditionsAreNotRoundedAway) {
  for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "nvfp4"}) {
    if (!runs(format)) continue;
    Case c = constant_case(format, 1, 1.0);
    c.start_code = 0x43800000;  // 256
    if (!computes(c)) continue;
    EXPECT_EQ(after_calls(GetParam(), c, 1), 257.0) << format;
  }
  Case tiny = constant_case("bf16", 1, 0x1p-10);
  tiny.start_code = 0x43800000;
  EXPECT_EQ(after_calls(GetParam(), tiny, 1000), 256.0 + 1000 * 0x1p-10);
  // 1 + 2^-8 + 2^-16 needs 17 bits: a bf16 step before the FP32 add would lose its end.
  Case long_sum = constant_case("bf16", 2, 1.0);
  long_sum.start_code = 0x43800000;
  long_sum.adjust = [](LogicalData& data) {
    for (std::int64_t row = 0; row < data.a.rows; ++row) data.a.set(row, 1, 0x1p-12);
  };
  EXPECT_EQ(after_calls(GetParam(), long_sum, 1), 257.0 + 0x1p-12);
}

TEST_P(FieldFaults, F078_SixteenBitDestinationsRoundOnce) {
  // 256 + 1 + 0.5 * 2 rounds to 258 in bf16 only when the two products are summed before the add.
  Case c = constant_case("bf16", 2, 1.0);
  c.problem.wgrad_dtype = DType::kBf16;
  c.start_code = 0x4380;  // 256; its neighbours are 2 apart
  EXPECT_EQ(after_calls(GetParam(), c, 1), 258.0);
  c.counts = {1};
  EXPECT_EQ(after_calls(GetParam(), c, 1), 256.0) << "a tie goes to even";
  c.adjust = [](LogicalData& data) {
    for (std::int64_t row = 0; row < data.a.rows; ++row) data.a.set(row, 0, 1.0078125);
  };
  EXPECT_EQ(after_calls(GetParam(), c, 1), 258.0) << "just above the tie";
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();

}  // namespace
}  // namespace wgrad::test
