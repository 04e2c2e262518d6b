// Drives the path of CPUs that multiply bfloat16 natively on any CPU: a plain loop stands in for
// the library's matmul, so that what surrounds it is tested everywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

#include "cpu/elements/encodings.hpp"
#include "cpu/grouped_matmul.hpp"
#include "harness/cases/instance.hpp"
#include "support/check.hpp"

namespace wgrad::cpu {
namespace {

class PlainBf16Matmul final : public TileMatmul {
 public:
  explicit PlainBf16Matmul(CellOrder b_order) : b_order_(b_order) {}

  CellOrder b_order() const noexcept override { return b_order_; }

  void multiply(const TileExtents& x, const TileFactor& a, const TileFactor& b, float* c,
                std::int64_t ldc, bool add) const override {
    EXPECT_EQ(x.k % plan::kTokenStep, 0);
    EXPECT_EQ(ldc, x.n);
    const auto* from_a = static_cast<const std::uint16_t*>(a.data);
    const auto* from_b = static_cast<const std::uint16_t*>(b.data);
    for (std::int64_t i = 0; i < x.m; ++i) {
      for (std::int64_t j = 0; j < x.n; ++j) {
        float sum = add ? c[i * ldc + j] : 0.0F;
        for (std::int64_t k = 0; k < x.k; ++k) {
          sum += flushed(from_a[i * x.k + k]) * flushed(from_b[place_of_b(j, k, x.k)]);
        }
        c[i * ldc + j] = sum;
      }
    }
  }

 private:
  /// Where pack_tile.hpp says that column j of token k lies.
  std::int64_t place_of_b(std::int64_t j, std::int64_t k, std::int64_t tokens) const {
    if (b_order_ == CellOrder::kRows) return j * tokens + k;
    const std::int64_t block = j / 64 * (tokens / 32) + k / 32;
    return block * 2048 + k % 32 / 2 * 128 + j % 64 * 2 + k % 2;
  }

  /// As the instructions do: subnormal inputs count as zero.
  static float flushed(std::uint16_t code) {
    return (code & 0x7F80U) == 0 ? 0.0F : bf16_value(code);
  }

  CellOrder b_order_;
};

plan::CpuConfig native_config() {
  plan::CpuConfig config;
  config.tile_m = config.tile_n = 48;
  config.tile_k = 64;
  config.call_m = 48;
  config.deep_call_m = 16;
  config.threads = 2;
  config.native_bf16 = true;
  return config;
}

testing::AssertionResult conforms(const test::Case& c, CellOrder b_order = CellOrder::kPairs) {
  const test::CaseData data(c);
  const GroupedMatmul matmul(problem(c), native_config(),
                             std::make_unique<PlainBf16Matmul>(b_order));
  test::Instance instance(data, test::host_device());
  matmul.run(instance.operands());
  return test::same_image(data, instance.output(), test::oracle_output(data));
}

TEST(NativeTiles, EveryFormatBothMajorsExactIntegers) {
  for (const test::NamedFormat& format : test::formats()) {
    const bool widened =
        format.a == DType::kF16 || (test::is_k_major(format) && format.a != DType::kE2m1);
    if (widened) continue;
    for (const Major major : {Major::kK, Major::kMn}) {
      for (const InputOrder order : {InputOrder::kTensor2d, InputOrder::kTensorRagged}) {
        test::Case c;
        c.problem = test::problem_of(format, 72, 56);
        c.problem.input_order = order;
        if (major == Major::kK) c.problem.a_major = c.problem.b_major = major;
        c.counts = test::fit_counts(c.problem, {64, 0, 1, 31, 97, 200});
        c.slack = 10;
        EXPECT_TRUE(conforms(c)) << format.name << " " << describe(c);
        EXPECT_TRUE(conforms(c, CellOrder::kRows)) << format.name << " " << describe(c);
      }
    }
  }
}

TEST(NativeTiles, ExtremeScalesNeverMeetAFlushedSubnormal) {
  for (const test::NamedFormat& format : test::formats()) {
    if (format.format != Format::kMxfp8) continue;
    test::Case c;
    c.problem = test::problem_of(format, 16, 16);
    c.problem.wgrad_dtype = DType::kF32;
    c.counts = {64};
    c.data = test::DataKind::kOnes;
    c.adjust = [](test::LogicalData& d) {
      for (auto& code : d.a.scale_codes) code = 0;
    };
    EXPECT_TRUE(conforms(c)) << format.name;
  }
}

/// Multiplies nothing; waits in its first calls until `wanted` threads are there at once.
class MeetingMatmul final : public TileMatmul {
 public:
  explicit MeetingMatmul(int wanted, int& most) : wanted_(wanted), most_(most) {}

  CellOrder b_order() const noexcept override { return CellOrder::kRows; }

  void multiply(const TileExtents& /*extents*/, const TileFactor& /*a*/, const TileFactor& /*b*/,
                float* /*c*/, std::int64_t /*ldc*/, bool /*add*/) const override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    met_.notify_all();
    met_.wait_for(lock, std::chrono::seconds(5), [&] { return most_ >= wanted_; });
    --inside_;
  }

 private:
  const int wanted_;
  int& most_;
  mutable int inside_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable met_;
};

int threads_at_once(std::vector<std::int64_t> counts, int threads) {
  test::Case c;
  c.problem = test::problem_of(test::formats().front(), 96, 48);
  c.counts = std::move(counts);
  plan::CpuConfig config = native_config();
  config.threads = threads;
  int most = 0;
  const test::CaseData data(c);
  const GroupedMatmul matmul(problem(c), config, std::make_unique<MeetingMatmul>(threads, most));
  test::Instance instance(data, test::host_device());
  matmul.run(instance.operands());
  return most;
}

TEST(NativeTiles, ThreadsShareTheTilesOfTheOneExpertWithTokens) {
  EXPECT_EQ(threads_at_once({0, 640, 0}, 6), 6);  // two tiles, each of three calls
  EXPECT_EQ(threads_at_once({0, 640, 0}, 4), 4);
}

/// Rows, columns, tokens and `add` of every call, one after another.
using Calls = std::vector<std::array<std::int64_t, 4>>;

/// Multiplies nothing; writes down what it is asked for.
class RecordingMatmul final : public TileMatmul {
 public:
  explicit RecordingMatmul(Calls& calls) : calls_(calls) {}

  CellOrder b_order() const noexcept override { return CellOrder::kRows; }

  void multiply(const TileExtents& x, const TileFactor& /*a*/, const TileFactor& /*b*/,
                float* /*c*/, std::int64_t /*ldc*/, bool add) const override {
    const std::lock_guard lock(mutex_);
    calls_.push_back({x.m, x.n, x.k, add ? 1 : 0});
  }

 private:
  Calls& calls_;
  mutable std::mutex mutex_;
};

Calls calls_with(int threads, std::int64_t m, std::int64_t n, std::vector<std::int64_t> counts) {
  test::Case c;
  c.problem = test::problem_of(test::formats().front(), m, n);
  c.counts = std::move(counts);
  plan::CpuConfig config = native_config();
  config.tile_m = config.call_m = 96;
  config.deep_call_m = 32;
  config.threads = threads;
  Calls calls;
  const test::CaseData data(c);
  const GroupedMatmul matmul(problem(c), config, std::make_unique<RecordingMatmul>(calls));
  test::Instance instance(data, test::host_device());
  matmul.run(instance.operands());
  return calls;
}

/// The library may sum a row otherwise in a call of another height.
TEST(NativeTiles, TheLibrarysCallsDoNotDependOnTheThreadCount) {
  const auto sorted = [](int threads) {
    Calls calls = calls_with(threads, 176, 56, {30, 640, 0, 70});
    std::sort(calls.begin(), calls.end());
    return calls;
  };
  const Calls one = sorted(1);
  const Calls::value_type deep = {32, 48, 64, 1};
  EXPECT_EQ(std::count(one.begin(), one.end(), deep), 45);  // of 640 tokens, after the first 64
  for (const int threads : {2, 3, 6, 64}) EXPECT_EQ(sorted(threads), one) << threads;
}

/// Parts of a tile pack factor B once each.
TEST(NativeTiles, OneThreadSharesNoTile) {
  const Calls calls = calls_with(1, 96, 48, {640});  // one tile, three calls a step
  const auto second_step = std::find_if(calls.begin(), calls.end(),
                                        [](const Calls::value_type& call) { return call[3] != 0; });
  EXPECT_EQ(second_step - calls.begin(), 3);
}

}  // namespace
}  // namespace wgrad::cpu
