// The emu backend through the public interface, judged by the oracle.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "kernels/sm90/emulated/kernels.hpp"
#include "support/check.hpp"
#include "support/planned/emulated_device.hpp"
#include "support/random_case.hpp"
#include "support/refusal.hpp"
#include "support/sentences.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/support.hpp"

namespace wgrad::test {
namespace {

Target emulated() {
  return {"emu", emulated_sm90(), host_device()};
}

Case small_case() {
  Case c;
  c.problem.m = 136;
  c.problem.n = 72;
  c.counts = {130, 0, 65, 7};
  c.slack = 9;
  return c;
}

TEST(EmuBackend, ComputesOnlyWhenNamed) {
  Case c = small_case();
  EXPECT_TRUE(check_support(problem(c), emulated_sm90(), "emu").reasons.empty());
  EXPECT_NE(prepare(problem(c), emulated_sm90(), {.backend = "emu"}).plan().find("emulated sm90"),
            std::string::npos);
  const std::string need = "; it must be an emulated GPU, written by hand (DeviceKind::kEmulated)";
  DeviceSpec cpu = host_spec();
  cpu.name = "a CPU";
  EXPECT_EQ(sentences(check_support(problem(c), cpu, "emu").reasons), "device is 'a CPU'" + need);
  DeviceSpec real = emulated_sm90();
  real.kind = DeviceKind::kCuda;
  real.name = "NVIDIA H200";
  EXPECT_EQ(sentences(check_support(problem(c), real, "emu").reasons),
            "device is 'NVIDIA H200'" + need);
}

TEST(EmuBackend, RefusesProblemsWithoutAKernel) {
  Problem p = problem(small_case());
  p.tiling = {128, 192, 2, 1};
  EXPECT_EQ(sentences(check_support(p, emulated_sm90(), "emu").reasons),
            "problem is a combination of types, majors and modes; it must be one of the " +
                std::to_string(kernels::sm90::emulated_kernels().size()) +
                " that the emulator's kernels were compiled for");
}

class EmuOutputs : public testing::TestWithParam<std::tuple<DType, OutputMode, bool>> {};

TEST_P(EmuOutputs, EqualTheOracles) {
  Case c = small_case();
  std::tie(c.problem.wgrad_dtype, c.problem.output_mode, c.problem.accumulate) = GetParam();
  EXPECT_TRUE(conforms(emulated(), c));
}

INSTANTIATE_TEST_SUITE_P(
    All, EmuOutputs,
    testing::Combine(testing::Values(DType::kBf16, DType::kF16, DType::kF32),
                     testing::Values(OutputMode::kDense, OutputMode::kDiscrete), testing::Bool()));

class EmuMajors : public testing::TestWithParam<std::tuple<Major, Major, InputOrder>> {};

TEST_P(EmuMajors, EqualTheOracles) {
  Case c = small_case();
  std::tie(c.problem.a_major, c.problem.b_major, c.problem.input_order) = GetParam();
  EXPECT_TRUE(conforms(emulated(), c));
}

INSTANTIATE_TEST_SUITE_P(
    All, EmuMajors,
    testing::Combine(testing::Values(Major::kK, Major::kMn), testing::Values(Major::kK, Major::kMn),
                     testing::Values(InputOrder::kTensor2d, InputOrder::kTensorRagged)));

TEST(EmuBackend, RandomProblemsEqualTheOracles) {
  int run = 0;
  for (std::uint64_t seed = 1; run < 12 && seed < 2000; ++seed) {
    const Case c = random_case(seed, 3e5);
    if (c.counts.size() > 12) continue;
    if (!check_support(problem(c), emulated_sm90(), "emu").reasons.empty()) continue;
    ++run;
    ASSERT_TRUE(conforms(emulated(), c)) << "random case " << seed;
  }
  EXPECT_EQ(run, 12);
}

TEST(EmuBackend, ReportsBrokenOffsetsAndTouchesNothingElse) {
  const CaseData data(small_case());
  Instance instance(data, host_device());
  const std::int32_t offsets[] = {130, 60, 2000, 202};
  instance.operands().offsets = offsets;
  const Executable executable = prepare(problem(data.source), emulated_sm90(), {.backend = "emu"});
  EXPECT_NO_THROW(executable.run(instance.operands()));
  const auto fault = executable.fault();
  ASSERT_TRUE(fault);
  EXPECT_TRUE(fault->expert == 1 || fault->expert == 2 || fault->expert == 3);
  executable.clear_fault();
  EXPECT_FALSE(executable.fault());
}

/// What a validated run of `change`d operands says, having written nothing.
std::string validated(const Case& c, const std::function<void(Operands&)>& change) {
  const CaseData data(c);
  Instance instance(data, host_device());
  change(instance.operands());
  const Executable executable =
      prepare(problem(c), emulated_sm90(), {.backend = "emu", .validate_device_data = true});
  std::string text = refusal<ValueError>([&] { executable.run(instance.operands()); });
  EXPECT_EQ(executable.fault(), std::nullopt);
  EXPECT_EQ(instance.output() == data.output.bytes(), text != "no error");
  return text;
}

TEST(EmuBackend, RefusesBrokenDataUnderValidation) {
  Case c = small_case();
  EXPECT_EQ(validated(c, [](Operands&) {}), "no error");
  const std::int32_t offsets[] = {130, 60, 195, 202};
  EXPECT_EQ(validated(c, [&](Operands& o) { o.offsets = offsets; }),
            "wgrad: offsets[1] is 60; it must be at least 130, the end of the expert before it");
  c.problem.output_mode = OutputMode::kDiscrete;
  EXPECT_EQ(validated(c, [](Operands&) {}), "no error");
  const std::int64_t same[] = {0x10000, 0x40000, 0x80000, 0x40000};
  EXPECT_EQ(validated(c, [&](Operands& o) { o.wgrad_ptrs = same; }),
            "wgrad: wgrad_ptrs[3] is 0x40000, within the output of expert 1 at 0x40000; it must be "
            "at least 19584 bytes from every other");
}

}  // namespace
}  // namespace wgrad::test
