#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <initializer_list>
#include <limits>
#include <thread>

#include "harness/cases/instance.hpp"
#include "harness/cases/logical.hpp"
#include "scales/codec.hpp"
#include "support/check.hpp"
#include "support/random_case.hpp"
#include "support/refusal.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::test {
namespace {

/// This machine's CPU, with its real features, and `threads` threads.
Target this_cpu(int threads) {
  DeviceSpec device = cpu_device();
  device.threads = threads;
  return {"cpu", device, host_device()};
}

Case small_case(const NamedFormat& format) {
  Case c;
  c.problem = problem_of(format, 72, 48);
  c.counts = fit_counts(c.problem, {130, 0, 1, 64, 37, 0, 300});
  c.slack = 6;
  return c;
}

Case tiled_case(DType out = DType::kF32) {
  Case c;
  c.problem = problem_of(formats().front(), 600, 528);
  c.problem.wgrad_dtype = out;
  c.counts = {70, 0, 300};
  c.data = DataKind::kNormal;
  return c;
}

Bytes run_once(const Executable& executable, const CaseData& data) {
  Instance instance(data, host_device());
  executable.run(instance.operands());
  return instance.output();
}

testing::AssertionResult has_the_bits_of_one_thread(const Case& c,
                                                    std::initializer_list<int> numbers) {
  const CaseData data(c);
  const Bytes one = run_once(prepare(problem(c), this_cpu(1).device), data);
  for (const int threads : numbers) {
    if (one != run_once(prepare(problem(c), this_cpu(threads).device), data))
      return testing::AssertionFailure() << "other bits with " << threads << " threads";
  }
  return testing::AssertionSuccess();
}

TEST(GroupedMatmul, EveryFormatBothMajorsEveryOutput) {
  for (const NamedFormat& format : formats()) {
    for (const bool k_major : {false, true}) {
      for (const DType out : {DType::kF32, DType::kBf16, DType::kF16}) {
        for (const bool accumulate : {false, true}) {
          Case c = small_case(format);
          if (k_major) c.problem.a_major = c.problem.b_major = Major::kK;
          c.problem.wgrad_dtype = out;
          c.problem.accumulate = accumulate;
          EXPECT_TRUE(conforms(this_cpu(2), c)) << format.name << " " << describe(c);
          c.data = DataKind::kNormal;
          EXPECT_TRUE(conforms(this_cpu(2), c)) << format.name << " " << describe(c);
        }
      }
    }
  }
}

TEST(GroupedMatmul, RandomProblems) {
  for (std::uint64_t seed = 1000; seed < 1150; ++seed) {
    const Case c = random_case(seed, 3e5);
    EXPECT_TRUE(conforms(this_cpu(2), c)) << seed << " " << describe(c);
  }
}

TEST(GroupedMatmul, SeveralTilesInEveryDirection) {
  Case c = tiled_case();
  EXPECT_TRUE(conforms(this_cpu(2), c));
  c.counts = {1030, 513};
  c.data = DataKind::kIntegers;
  c.problem.a_major = Major::kK;
  c.problem.accumulate = true;
  EXPECT_TRUE(conforms(this_cpu(2), c));
}

TEST(GroupedMatmul, BitsDoNotDependOnTheThreadCount) {
  for (const NamedFormat& format : formats()) {
    Case c = small_case(format);
    c.data = DataKind::kNormal;
    c.problem.wgrad_dtype = DType::kF32;
    EXPECT_TRUE(has_the_bits_of_one_thread(c, {2, 3, 8})) << format.name;
  }
}

/// One expert has nearly all tokens, and 2 x 2 tiles: threads share each of them.
TEST(GroupedMatmul, BitsDoNotDependOnWhoSharesATile) {
  for (const NamedFormat& format : formats()) {
    Case c;
    c.problem = problem_of(format, 296, 264);
    c.counts = fit_counts(c.problem, {0, 1, 700, 30, 0});
    c.slack = 6;
    c.data = DataKind::kNormal;
    c.problem.wgrad_dtype = DType::kF32;
    EXPECT_TRUE(has_the_bits_of_one_thread(c, {4, 12, 16})) << format.name;
  }
}

TEST(GroupedMatmul, AnExpertsBitsDoNotDependOnTheOthers) {
  Case whole = tiled_case();
  whole.counts = {300, 70};
  Case alone = whole;
  alone.counts = {300};
  const CaseData data(whole);
  CaseData first(alone);
  const std::int64_t row_bytes = whole.problem.m * 2;  // MN-major bf16: tokens are rows
  first.a.bytes.assign(data.a.bytes.begin(), data.a.bytes.begin() + 300 * row_bytes);
  first.b.bytes.assign(data.b.bytes.begin(), data.b.bytes.begin() + 300 * whole.problem.n * 2);
  const Bytes both = run_once(prepare(problem(whole), this_cpu(2).device), data);
  const Bytes single = run_once(prepare(problem(alone), this_cpu(2).device), first);
  for (std::int64_t i = 0; i < whole.problem.m; ++i) {
    for (std::int64_t j = 0; j < whole.problem.n; ++j) {
      ASSERT_EQ(read_code(both, data.output.cell_offset(0, i, j), DType::kF32),
                read_code(single, first.output.cell_offset(0, i, j), DType::kF32))
          << i << ", " << j;
    }
  }
}

TEST(GroupedMatmul, AHundredRunsAreBitwiseEqual) {
  Case c = small_case(formats().front());
  c.problem.m = 300;
  c.problem.n = 272;
  c.data = DataKind::kNormal;
  c.problem.wgrad_dtype = DType::kF32;
  const CaseData data(c);
  const Executable executable = prepare(problem(c), this_cpu(2).device);
  const Bytes first = run_once(executable, data);
  for (int i = 1; i < 100; ++i) ASSERT_TRUE(first == run_once(executable, data)) << "run " << i;
}

TEST(GroupedMatmul, SeveralThreadsRunOneExecutable) {
  Case c = small_case(formats().front());
  c.problem.m = 264;
  c.data = DataKind::kNormal;
  const CaseData data(c);
  const Executable executable = prepare(problem(c), this_cpu(3).device);
  const Bytes want = run_once(executable, data);
  std::vector<std::thread> threads;
  std::vector<int> equal(4, 0);
  for (std::size_t t = 0; t < equal.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) equal[t] += run_once(executable, data) == want ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(equal, std::vector<int>(4, 10));
}

TEST(GroupedMatmul, WorksInAForkedChild) {
  const Case c = small_case(formats().front());
  const CaseData data(c);
  const Executable executable = prepare(problem(c), this_cpu(2).device);
  const Bytes want = run_once(executable, data);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a hang becomes a failure
    _exit(run_once(executable, data) == want ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#if defined(__SSE2__)
TEST(GroupedMatmul, CallersFlushingSubnormalsChangesNothing) {
  Case c;
  c.problem = problem_of(formats().front(), 16, 16);
  c.problem.wgrad_dtype = DType::kF32;
  c.counts = {1};
  c.adjust = [](LogicalData& d) {
    for (auto& code : d.a.codes) code = 0x2000;  // 2^-63
    for (auto& code : d.b.codes) code = 0x1F80;  // 2^-64: products are subnormal
  };
  const CaseData data(c);
  const Executable executable = prepare(problem(c), this_cpu(2).device);
  const Bytes want = run_once(executable, data);
  const unsigned mode = __builtin_ia32_stmxcsr();
  __builtin_ia32_ldmxcsr(mode | 0x8040U);
  const Bytes got = run_once(executable, data);
  EXPECT_EQ(__builtin_ia32_stmxcsr() & 0x8040U, 0x8040U);
  __builtin_ia32_ldmxcsr(mode);
  EXPECT_TRUE(got == want);
  // Instructions that multiply bfloat16 flush subnormal sums, whatever the mode.
  const bool flushes = cpu_device().avx512_bf16 || cpu_device().amx_bf16;
  EXPECT_EQ(read_value(got, data.output.cell_offset(0, 3, 5), DType::kF32), flushes ? 0 : 0x1p-127);
}
#endif

/// MXFP8 with every element 1 and scale codes as given: one for A's rows below 8, one for the rest,
/// one for B.
Case extreme_case(DType element, std::uint8_t a_low, std::uint8_t a_high, std::uint8_t b) {
  Case c;
  const auto found = std::find_if(formats().begin(), formats().end(), [&](const NamedFormat& f) {
    return f.a == element && f.b == element && f.format != Format::kNvfp4;
  });
  c.problem = problem_of(*found, 16, 16);
  c.problem.wgrad_dtype = DType::kF32;
  c.counts = {64, 32};
  c.data = DataKind::kOnes;
  c.adjust = [=](LogicalData& d) {
    for (std::int64_t row = 0; row < 16; ++row) {
      for (std::int64_t col = 0; col < d.a.cols(); ++col) {
        d.a.scale_code(row, col) = row < 8 ? a_low : a_high;
        d.b.scale_code(row, col) = b;
      }
    }
  };
  return c;
}

TEST(GroupedMatmul, ScalesAtTheEndsOfTheirRangeAreExact) {
  struct Extreme {
    std::uint8_t a_low;
    std::uint8_t a_high;
    std::uint8_t b;
  };
  for (const DType element : {DType::kE4m3, DType::kE5m2, DType::kE2m1}) {
    for (const Extreme x : {Extreme{0, 0, 127},
                            {0, 1, 130},
                            {254, 254, 0},
                            {254, 250, 60},
                            {0, 127, 127},
                            {0, 254, 127},
                            {254, 0, 20},
                            {1, 200, 120}}) {
      const Case c = extreme_case(element, x.a_low, x.a_high, x.b);
      EXPECT_TRUE(conforms(this_cpu(2), c))
          << name(element) << " " << int{x.a_low} << " " << int{x.a_high} << " " << int{x.b};
    }
  }
}

/// The scales of half a tile's rows fit into float32, those of all its rows do not: whoever shares
/// the tile, it is summed in double.
TEST(GroupedMatmul, ASharedTilesRangeIsThatOfAllItsRows) {
  Case c = extreme_case(DType::kE4m3, 0, 254, 20);
  c.problem.m = 160;  // one tile of several calls
  c.counts = {1024, 1024};
  c.data = DataKind::kNormal;
  c.adjust = [](LogicalData& d) {
    for (std::int64_t row = 0; row < 160; ++row) {
      for (std::int64_t col = 0; col < d.a.cols(); ++col) {  // so spread that float32 must round
        d.a.scale_code(row, col) = static_cast<std::uint8_t>(row < 80 ? 0 : 254 - col % 13);
      }
    }
    for (auto& code : d.b.scale_codes) code = 20;
  };
  EXPECT_TRUE(has_the_bits_of_one_thread(c, {4}));
}

TEST(GroupedMatmul, ScaleByteZeroIsTwoToMinus127) {
  const Case c = extreme_case(DType::kE4m3, 0, 127, 127);
  const CaseData data(c);
  const Bytes got = run_once(prepare(problem(c), this_cpu(1).device), data);
  EXPECT_EQ(read_value(got, data.output.cell_offset(1, 0, 0), DType::kF32), 0x1p-122);
  EXPECT_EQ(read_value(got, data.output.cell_offset(1, 9, 0), DType::kF32), 32.0);
}

TEST(GroupedMatmul, ANanScaleMakesNanOnlyWhatItScales) {
  Case c = extreme_case(DType::kE4m3, 127, 127, 127);
  const auto ones = c.adjust;
  c.adjust = [ones](LogicalData& d) {
    ones(d);
    d.a.scale_code(3, 0) = 255;  // row 3, expert 0
    d.a.scale_code(4, 0) = 254;
  };
  const CaseData data(c);
  const Bytes got = run_once(prepare(problem(c), this_cpu(2).device), data);
  for (std::int64_t i = 0; i < 16; ++i) {
    const double first = read_value(got, data.output.cell_offset(0, i, 7), DType::kF32);
    EXPECT_EQ(std::isnan(first), i == 3) << i;
    EXPECT_EQ(read_value(got, data.output.cell_offset(1, i, 7), DType::kF32), 32.0) << i;
  }
}

TEST(GroupedMatmul, AccumulatesStraightFromFloat32) {
  for (const DType out : {DType::kF32, DType::kBf16, DType::kF16}) {
    Case c = small_case(formats().front());
    c.problem.wgrad_dtype = out;
    c.problem.accumulate = true;
    c.data = DataKind::kNormal;
    EXPECT_TRUE(conforms(this_cpu(2), c)) << name(out);
  }
}

TEST(GroupedMatmul, RefusesADeviceThatClaimsMoreThanTheCpuHas) {
  if (cpu_device().avx512_bf16 || cpu_device().amx_bf16) GTEST_SKIP() << "this CPU has bfloat16";
  DeviceSpec device = cpu_device();
  device.amx_bf16 = true;
  const std::string text =
      refusal<RuntimeError>([&] { prepare(problem(small_case(formats().front())), device); });
  EXPECT_EQ(text.find("wgrad: the device says that this CPU multiplies bfloat16, but oneDNN does "
                      "not here: "),
            0U)
      << text;
}

}  // namespace
}  // namespace wgrad::test
