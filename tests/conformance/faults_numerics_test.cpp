// Field faults K: determinism and numerics.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "support/field_faults.hpp"

namespace wgrad::test {
namespace {

/// Runs `times` times into a restored output and expects the same bits each time.
void expect_same_bits(const Target& target, const CaseData& data, int times) {
  const Executable executable =
      prepare(problem(data.source), target.device, {.backend = target.backend});
  Instance instance(data, target.memory);
  executable.run(instance.operands());
  const Bytes first = instance.output();
  for (int i = 1; i < times; ++i) {
    instance.reset_output();
    executable.run(instance.operands());
    ASSERT_TRUE(same_image(data, instance.output(), first)) << "run " << i;
  }
}

TEST_P(FieldFaults, F106_FiftyRunsGiveTheSameBits) {
  for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp4", "nvfp4"}) {
    if (!runs(format)) continue;
    Case c = case_of(format, 48, 80, {128, 128, 256, 0, 128, 64, 32, 30});
    c.data = DataKind::kNormal;
    c.problem.wgrad_dtype = DType::kF32;
    if (!computes(c)) continue;
    expect_same_bits(GetParam(), CaseData(c), 50);
  }
}

TEST_P(FieldFaults, F106_OtherLoadDoesNotChangeBits) {
  Case c = case_of("bf16", 96, 128, {700, 30, 1, 200});
  c.data = DataKind::kNormal;
  c.problem.wgrad_dtype = DType::kF32;
  const CaseData data(c);
  std::vector<std::jthread> load;
  load.reserve(3);
  for (int i = 0; i < 3; ++i) {
    load.emplace_back([&] { expect_same_bits(GetParam(), data, 10); });
  }
  expect_same_bits(GetParam(), data, 10);
}

TEST_P(FieldFaults, F106_TheOrderOfExpertsDoesNotChangeTheirBits) {
  // The same expert values at different places: expert e of `forward` is E-1-e of `backward`.
  const std::vector<std::int64_t> counts = {37, 0, 300, 1, 128};
  Case forward = case_of("bf16", 72, 40, counts);
  forward.data = DataKind::kNormal;
  forward.problem.wgrad_dtype = DType::kF32;
  const Result there = run(forward);
  Case backward = forward;
  std::reverse(backward.counts.begin(), backward.counts.end());
  backward.adjust = [&there](LogicalData& data) {
    const auto reverse = [](LogicalOperand& to, const LogicalOperand& from) {
      const std::size_t experts = from.begins.size() - 1;
      for (std::size_t e = 0; e < experts; ++e) {
        for (std::int64_t row = 0; row < from.rows; ++row) {
          for (std::int64_t t = from.begins[e]; t < from.begins[e + 1]; ++t) {
            to.code(row, to.begins[experts - 1 - e] + t - from.begins[e]) = from.code(row, t);
          }
        }
      }
    };
    reverse(data.a, there.data().logical.a);
    reverse(data.b, there.data().logical.b);
  };
  const Result back = run(backward);
  for (std::size_t e = 0; e < counts.size(); ++e) {
    for (std::int64_t i = 0; i < 72; ++i) {
      for (std::int64_t j = 0; j < 40; ++j) {
        ASSERT_EQ(there.code(e, i, j), back.code(counts.size() - 1 - e, i, j))
            << "expert " << e << " row " << i << " column " << j;
      }
    }
  }
}

/// Every expert gets the values of the first.
void repeat_first_expert(LogicalData& data) {
  for (LogicalOperand* o : {&data.a, &data.b}) {
    for (std::int64_t row = 0; row < o->rows; ++row) {
      for (std::int64_t t = 0; t < o->tokens(); ++t) {
        o->code(row, t) = o->code(row, t % o->begins[1]);
      }
    }
  }
}

TEST_P(FieldFaults, F106_WhereAnExpertBeginsDoesNotChangeItsBits) {
  // Begins of 0, 81, 162, ...: every one modulo 16, the tokens that tensor cores sum at once.
  const std::vector<std::int64_t> counts(16, 81);
  std::size_t compared = 0;
  for (const char* format : {"bf16", "fp16"}) {
    for (Case c : variants(format, 24, 16, counts)) {
      for (const bool accumulate : {false, true}) {
        c.problem.wgrad_dtype = DType::kF32;
        c.problem.accumulate = accumulate;
        c.data = DataKind::kNormal;
        c.adjust = repeat_first_expert;
        if (accumulate) c.start_code = nearest_code(DType::kF32, 0.375);
        if (!has_kernel(GetParam(), problem(c))) continue;
        const Result result = run(c);
        for (std::size_t e = 1; e < counts.size(); ++e) {
          for (std::int64_t i = 0; i < 24; ++i) {
            for (std::int64_t j = 0; j < 16; ++j, ++compared) {
              ASSERT_EQ(result.code(e, i, j), result.code(0, i, j))
                  << describe(c) << " expert " << e << " row " << i << " column " << j;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 0U);
}

TEST_P(FieldFaults, F107_PlainStoresIntoUnpreparedMemory) {
  for (const char* format : {"bf16", "mxfp8_e4m3"}) {
    for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
      for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete}) {
        Case c = case_of(format, 136, 264, {40, 0, 100});
        c.problem.wgrad_dtype = dtype;
        c.problem.output_mode = mode;
        ASSERT_TRUE(conforms(c));
      }
    }
  }
}

TEST_P(FieldFaults, F108_LongSumsKeepFloat32Accuracy) {
  // Ones and small values in turn: the sum k/2 (1 + 2^-9) is exact in float32 at every length.
  for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "bf16", "fp16"}) {
    if (!runs(format)) continue;
    for (const std::int64_t count : {1024, 8192, 65536}) {
      Case c = case_of(format, 8, 8, {count});
      c.data = DataKind::kOnes;
      c.problem.wgrad_dtype = DType::kF32;
      c.adjust = [](LogicalData& data) {
        for (std::int64_t row = 0; row < 8; ++row) {
          for (std::int64_t t = 1; t < data.a.tokens(); t += 2) data.a.set(row, t, 0x1p-9);
        }
      };
      ASSERT_EQ(run(c).value(0, 5, 3), 0.5 * static_cast<double>(count) * (1 + 0x1p-9)) << format;
    }
  }
}

TEST_P(FieldFaults, F108_TheErrorOfRandomSumsDoesNotOutgrowTheBound) {
  for (const char* format : {"mxfp8_e4m3", "mxfp8_e5m2", "mxfp4", "nvfp4", "bf16"}) {
    for (const std::int64_t count : {1024, 8192, 65536}) {
      Case c = case_of(format, 8, 8, {count});
      c.data = DataKind::kNormal;
      c.problem.wgrad_dtype = DType::kF32;
      ASSERT_TRUE(conforms(c));
    }
  }
}

TEST_P(FieldFaults, F110_IntegersAreBitwiseEqual) {
  for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp8_e5m2"}) {
    for (Case c : variants(format, 72, 40, {513, 1, 0, 200})) {
      for (const DType dtype : {DType::kBf16, DType::kF16, DType::kF32}) {
        c.problem.wgrad_dtype = dtype;
        ASSERT_TRUE(conforms(c));
      }
    }
  }
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();

}  // namespace
}  // namespace wgrad::test
