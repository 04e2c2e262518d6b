// Problem::workspace: every run brings scratch memory, whose contents mean nothing. Where a backend
// has kernels whose parts of the tokens meet there, such a candidate runs beside the first one.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/field_faults.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::test {
namespace {

constexpr std::int64_t kAhead = 16;   // the least alignment
constexpr std::int64_t kBehind = 48;  // canaries
constexpr std::uint8_t kCanary = 0x5C;

/// Parts of 2048 tokens or more: one expert goes into several, the others do not.
const std::vector<std::int64_t> kCounts = {0, 4111, 130, 1};

class Workspace : public testing::TestWithParam<Target> {
 protected:
  static Case case_of(const char* format, DType dtype, bool accumulate) {
    Case c;
    c.problem = problem_of(format_named(format), 136, 72);
    c.problem.wgrad_dtype = dtype;
    c.problem.accumulate = accumulate;
    c.problem.workspace = true;
    c.counts = fit_counts(c.problem, kCounts);
    return c;
  }
  /// An overwrite, an accumulation of a K-major operand, and scaled operands where the backend has
  /// kernels.
  std::vector<Case> cases() const {
    std::vector<Case> out = {case_of("bf16", DType::kBf16, false),
                             case_of("mxfp8_e4m3", DType::kF32, false)};
    Case mixed = case_of("bf16", DType::kF32, true);
    mixed.problem.a_major = Major::kK;
    mixed.slack = 5;
    out.push_back(mixed);
    std::erase_if(out, [](const Case& c) { return !has_kernel(GetParam(), problem(c)); });
    return out;
  }

  Executable prepare_number(const Case& c, int number) const {
    return prepare(problem(c), GetParam().device,
                   {.backend = GetParam().backend, .candidate = number});
  }

  /// The planner's choice, and the first candidate that splits in the workspace.
  std::vector<int> numbers(const Case& c) const {
    std::vector<int> out = {0};
    int number = 0;
    for (const Candidate& candidate : explain(problem(c), GetParam().device).candidates) {
      if (candidate.backend != GetParam().backend || !candidate.reasons.empty()) continue;
      if (candidate.plan.find(" parts of ") != std::string::npos) {
        if (number > 0) out.push_back(number);
        return out;
      }
      ++number;
    }
    const bool needed = GetParam().backend == "emu" && GetParam().device.arch == 90;
    EXPECT_FALSE(needed && !c.problem.scales) << "no candidate splits in the workspace";
    return out;
  }

  /// One run with a workspace of exactly the stated bytes, between canaries.
  testing::AssertionResult run_in(const Executable& executable, Instance& instance,
                                  std::uint8_t contents) const {
    const std::int64_t bytes = executable.workspace_bytes();
    Bytes image(static_cast<std::size_t>(kAhead + bytes + kBehind), kCanary);
    std::fill_n(image.begin() + kAhead, bytes, contents);
    const Buffer workspace(GetParam().memory, image);
    instance.operands().workspace = static_cast<std::uint8_t*>(workspace.data()) + kAhead;
    instance.operands().workspace_bytes = bytes;
    executable.run(instance.operands());
    GetParam().memory->synchronize();
    const Bytes after = workspace.download();
    const auto is_canary = [](std::uint8_t byte) { return byte == kCanary; };
    if (std::all_of(after.begin(), after.begin() + kAhead, is_canary) &&
        std::all_of(after.end() - kBehind, after.end(), is_canary))
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << "bytes beside the workspace changed";
  }
};

TEST_P(Workspace, ItsContentsMoveNoBit) {
  for (const Case& c : cases()) {
    const CaseData data(c);
    const Bytes want = oracle_output(data);
    for (const int number : numbers(c)) {
      const Executable executable = prepare_number(c, number);
      for (const int contents : {0x01, 0xFF}) {
        Instance instance(data, GetParam().memory);
        ASSERT_TRUE(run_in(executable, instance, static_cast<std::uint8_t>(contents)))
            << executable.plan();
        ASSERT_TRUE(same_image(data, instance.output(), want))
            << executable.plan() << ", contents " << contents;
      }
    }
  }
}

TEST_P(Workspace, OneRunLeavesItToTheNextAsItIs) {
  Case c = case_of("bf16", DType::kBf16, false);
  for (const int number : numbers(c)) {
    const Executable executable = prepare_number(c, number);
    const Buffer workspace(
        GetParam().memory,
        Bytes(static_cast<std::size_t>(executable.workspace_bytes()), std::uint8_t{0xA5}));
    for (int run = 0; run < 3; ++run) {
      std::rotate(c.counts.begin(), c.counts.begin() + 1, c.counts.end());
      const CaseData data(c);
      Instance instance(data, GetParam().memory);
      instance.operands().workspace = workspace.data();
      instance.operands().workspace_bytes = workspace.bytes();
      executable.run(instance.operands());
      ASSERT_TRUE(same_image(data, instance.output(), oracle_output(data))) << "run " << run;
    }
  }
}

TEST_P(Workspace, NoneAShortOrAMisalignedOneIsRefused) {
  const Case c = case_of("bf16", DType::kBf16, false);
  const CaseData data(c);
  for (const int number : numbers(c)) {
    const Executable executable = prepare_number(c, number);
    const std::int64_t bytes = executable.workspace_bytes();
    if (bytes == 1) {  // the plan needs none
      Instance instance(data, GetParam().memory);
      executable.run(instance.operands());
      ASSERT_TRUE(same_image(data, instance.output(), oracle_output(data)));
      continue;
    }
    const Buffer workspace(GetParam().memory,
                           Bytes(static_cast<std::size_t>(bytes + kAhead), std::uint8_t{0xA5}));
    const auto refused = [&](std::int64_t shift, std::int64_t given) {
      Instance instance(data, GetParam().memory);
      instance.operands().workspace =
          shift < 0 ? nullptr : static_cast<std::uint8_t*>(workspace.data()) + shift;
      instance.operands().workspace_bytes = given;
      std::string text = refusal<ValueError>([&] { executable.run(instance.operands()); });
      EXPECT_EQ(instance.output(), data.output.bytes()) << "refused after writing";
      return text;
    };
    const std::string need = std::to_string(bytes) + " bytes";
    EXPECT_EQ(refused(-1, 0),
              "wgrad: workspace is null; it must be " + need + ", as Problem::workspace says");
    EXPECT_EQ(refused(0, bytes - 1), "wgrad: workspace is " + std::to_string(bytes - 1) +
                                         " bytes; it must be at least " + need);
    EXPECT_NE(refused(8, bytes).find("; it must be at a multiple of 16 bytes"), std::string::npos);
  }
}

std::vector<Target> targets_of_executables() {
  std::vector<Target> out = judged_targets();
  std::erase_if(out, [](const Target& target) { return target.by_driver; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Backends, Workspace, testing::ValuesIn(targets_of_executables()),
                         [](const auto& param) { return target_name(param.param); });
// Through a fake driver the cases of the other suites run, where a problem asks for a workspace.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Workspace);

}  // namespace
}  // namespace wgrad::test
