#include "harness/sampled_check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "harness/elements.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::harness {
namespace {

constexpr std::int64_t kM = 24;
constexpr std::int64_t kN = 16;
const std::vector<std::int64_t> kCounts = {37, 0, 5};

/// A problem that the oracle itself has computed: right until a test spoils it.
struct Solved {
  explicit Solved(DType out, bool accumulate = false) {
    DeviceSpec cpu;
    cpu.threads = 1;
    Problem p;
    p.experts = 3;
    p.m = kM;
    p.n = kN;
    p.wgrad_dtype = out;
    p.accumulate = accumulate;
    workload = std::make_unique<Workload>(p, kCounts, 1, 1, host_device());
    prepare(p, cpu, {.backend = "reference"}).run(workload->device_operands());
  }
  double get(std::int64_t e, std::int64_t i, std::int64_t j) const {
    return load(workload->problem().wgrad_dtype, wgrad(), (e * kM + i) * kN + j);
  }
  void set(std::int64_t e, std::int64_t i, std::int64_t j, double value) const {
    store(workload->problem().wgrad_dtype, wgrad(), (e * kM + i) * kN + j,
          static_cast<float>(value));
  }
  std::byte* wgrad() const { return static_cast<std::byte*>(workload->device_operands().wgrad); }
  CheckResult checked() const { return check(*workload, 300, 1); }

  std::unique_ptr<Workload> workload;
};

class EveryOutput : public testing::TestWithParam<DType> {};

TEST_P(EveryOutput, AcceptsWhatTheOracleComputed) {
  for (const bool accumulate : {false, true}) {
    const CheckResult result = Solved(GetParam(), accumulate).checked();
    EXPECT_TRUE(result.ok()) << result.failure;
    EXPECT_GE(result.samples, 300);
    EXPECT_LE(result.max_of_bound, 1.0);
  }
}

TEST_P(EveryOutput, ComparesEachOutputOnceWhereAllAreAskedFor) {
  const Solved solved(GetParam());
  for (const std::int64_t samples : {3 * kM * kN, 3 * kM * kN + 1, INT64_MAX}) {
    EXPECT_EQ(check(*solved.workload, samples, 1).samples, 3 * kM * kN);
  }
  solved.set(2, 1, 0, solved.get(2, 1, 0) * 2 + 1);
  EXPECT_EQ(check(*solved.workload, INT64_MAX, 1).failure.rfind("Wgrad[2][1][0] is ", 0), 0U);
}

TEST_P(EveryOutput, SeesAWrongCornerElement) {
  const Solved solved(GetParam());
  const double right = solved.get(2, kM - 1, kN - 1);
  solved.set(2, kM - 1, kN - 1, right + 0.25 + 0.25 * std::fabs(right));
  const CheckResult result = solved.checked();
  EXPECT_EQ(result.failure.rfind("Wgrad[2][23][15] is ", 0), 0U) << result.failure;
  EXPECT_GT(result.max_of_bound, 1.0);
}

TEST_P(EveryOutput, SeesOneMissingToken) {
  const Solved solved(GetParam());
  // What a sum without the last token of expert 0 would give, in every element.
  const Operands& host = solved.workload->host_operands();
  for (std::int64_t i = 0; i < kM; ++i) {
    for (std::int64_t j = 0; j < kN; ++j) {
      const double a = load(DType::kBf16, static_cast<const std::byte*>(host.a), 36 * kM + i);
      const double b = load(DType::kBf16, static_cast<const std::byte*>(host.b), 36 * kN + j);
      solved.set(0, i, j, solved.get(0, i, j) - a * b);
    }
  }
  EXPECT_FALSE(solved.checked().ok());
}

TEST_P(EveryOutput, SeesAnElementThatWasNeverWritten) {
  const Solved solved(GetParam());
  solved.set(0, 3, 5, NAN);
  EXPECT_EQ(solved.checked().failure,
            "Wgrad[0][3][5] is nan; it must be written: it still holds the NaN put there before");
}

TEST_P(EveryOutput, SeesAnEmptyExpertThatIsNotZero) {
  const Solved solved(GetParam());
  solved.set(1, 0, 1, smallest(GetParam()));
  EXPECT_EQ(solved.checked().failure.rfind("Wgrad[1][0][1] is ", 0), 0U);
}

TEST_P(EveryOutput, SeesAnEmptyExpertThatAccumulationTouched) {
  const Solved solved(GetParam(), true);
  const double before = solved.get(1, 2, 2);
  EXPECT_EQ(before, solved.workload->initial(1, 2, 2));
  solved.set(1, 2, 2, before * (1 + 4 * unit_roundoff(GetParam())));
  EXPECT_EQ(solved.checked().failure.rfind("Wgrad[1][2][2] is ", 0), 0U);
}

INSTANTIATE_TEST_SUITE_P(Outputs, EveryOutput,
                         testing::Values(DType::kBf16, DType::kF16, DType::kF32),
                         [](const auto& test) { return std::string(name(test.param)); });

}  // namespace
}  // namespace wgrad::harness
