#include "wgrad/executable.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <type_traits>
#include <utility>

#include "support/check.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::test {
namespace {

class ExecutableTest : public testing::TestWithParam<Target> {
 protected:
  Executable prepared(const Case& c) const {
    return prepare(problem(c), GetParam().device, {.backend = GetParam().backend});
  }
  static Case plain(std::vector<std::int64_t> counts) {
    Case c;
    c.problem = problem_of(formats()[0], 40, 24);
    c.counts = std::move(counts);
    return c;
  }
};

TEST_P(ExecutableTest, SaysWhatItIs) {
  const Case c = plain({10, 20});
  const Executable executable = prepared(c);
  EXPECT_EQ(executable.backend(), GetParam().backend);
  EXPECT_EQ(executable.problem(), problem(c));
  EXPECT_FALSE(executable.plan().empty());
  EXPECT_GE(executable.workspace_bytes(), 1);
  EXPECT_EQ(executable.fault(), std::nullopt);
  executable.clear_fault();
}

TEST_P(ExecutableTest, EveryCandidateComputesAndNoOtherIsTaken) {
  const CaseData data(plain({10, 20}));
  const Target& target = GetParam();
  int usable = 0;
  for (const Candidate& c : explain(problem(data.source), target.device).candidates) {
    if (c.backend != target.backend || !c.reasons.empty()) continue;
    const Executable executable = prepare(problem(data.source), target.device,
                                          {.backend = target.backend, .candidate = usable++});
    EXPECT_EQ(executable.plan(), c.plan);
    const Instance instance(data, target.memory);
    executable.run(instance.operands());
    EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data)));
  }
  ASSERT_GT(usable, 0);
  for (const int wrong : {-1, usable}) {
    EXPECT_THROW(prepare(problem(data.source), target.device,
                         {.backend = target.backend, .candidate = wrong}),
                 ValueError);
  }
}

TEST_P(ExecutableTest, ServesOtherCountsTokensAndAddresses) {
  const Executable executable = prepared(plain({10, 20, 30}));
  for (const std::vector<std::int64_t>& counts :
       {std::vector<std::int64_t>{0, 0, 0}, {1, 0, 500}, {33, 33, 34}, {700, 1, 2}}) {
    const CaseData data(plain(counts));
    const Instance instance(data, GetParam().memory);
    executable.run(instance.operands());
    ASSERT_TRUE(same_image(data, instance.output(), oracle_output(data)));
  }
}

TEST_P(ExecutableTest, ACopyOutlivesItsSource) {
  const CaseData data(plain({10, 20}));
  const Instance instance(data, GetParam().memory);
  auto first = std::make_unique<Executable>(prepared(data.source));
  const Executable copy = *first;  // NOLINT(performance-unnecessary-copy-initialization)
  first.reset();
  copy.run(instance.operands());
  EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data)));
}

TEST_P(ExecutableTest, AnOperatorThatWasMovedFromStillRuns) {
  const CaseData data(plain({10, 20}));
  const Instance instance(data, GetParam().memory);
  Executable first = prepared(data.source);
  Executable second = std::move(first);
  // NOLINTBEGIN(bugprone-use-after-move): that it may be used is the test
  const Executable copy = first;
  second = std::move(first);
  for (const Executable& executable : {first, second, copy}) {
    EXPECT_EQ(executable.problem(), problem(data.source));
    EXPECT_EQ(executable.backend(), GetParam().backend);
    EXPECT_FALSE(executable.plan().empty());
    EXPECT_GE(executable.workspace_bytes(), 1);
    EXPECT_EQ(executable.fault(), std::nullopt);
    executable.clear_fault();
    executable.run(instance.operands());
  }
  // NOLINTEND(bugprone-use-after-move)
  EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data)));
}

/// The message that running `change`d operands throws, having written nothing.
std::string refusal(const Executable& executable, const Target& target, const CaseData& data,
                    const std::function<void(Operands&)>& change) {
  Instance instance(data, target.memory);
  change(instance.operands());
  try {
    executable.run(instance.operands());
  } catch (const ValueError& error) {
    EXPECT_EQ(instance.output(), data.output.bytes()) << "written to before the refusal";
    return error.what();
  }
  return "";
}

TEST_P(ExecutableTest, RefusesOperandsBeforeAnyWork) {
  const CaseData data(plain({10, 20}));
  const Executable executable = prepared(data.source);
  const auto refused = [&](const std::function<void(Operands&)>& change) {
    return refusal(executable, GetParam(), data, change);
  };
  EXPECT_EQ(refused([](Operands& o) { o.a = nullptr; }), "wgrad: a is null; it must be an address");
  EXPECT_EQ(
      refused([](Operands& o) {
        o.b = nullptr;
        o.tokens = -4;
      }),
      "wgrad: tokens is -4; it must be from 0 to 2147483647\nb is null; it must be an address");
  EXPECT_EQ(refused([](Operands& o) { o.a_ld = 8; }),
            "wgrad: a_ld is 8; it must be at least the contiguous extent 40");
}

TEST_P(ExecutableTest, RefusesHostDataBeforeAnyWork) {
  if (GetParam().device.kind != DeviceKind::kCpu) {
    GTEST_SKIP() << "offsets of a GPU run are device data, seen only under validation";
  }
  const CaseData data(plain({10, 20}));
  const Executable executable = prepared(data.source);
  const auto with_offsets = [&](std::vector<std::int32_t> offsets) {
    return refusal(executable, GetParam(), data, [&](Operands& o) { o.offsets = offsets.data(); });
  };
  EXPECT_EQ(with_offsets({20, 10}),
            "wgrad: offsets[1] is 10; it must be at least 20, the end of the expert before it");
  EXPECT_EQ(with_offsets({-1, 10}),
            "wgrad: offsets[0] is -1; it must be at least 0, the end of the expert before it");
  EXPECT_EQ(with_offsets({10, 31}), "wgrad: offsets[1] is 31; it must be at most T = 30");
  EXPECT_EQ(with_offsets({10, 30}), "");
  std::vector<std::int32_t> decreasing = {20, 10};
  EXPECT_EQ(
      refusal(executable, GetParam(), data,
              [&](Operands& o) {
                o.offsets = decreasing.data();
                o.a = nullptr;
              }),
      "wgrad: a is null; it must be an address\noffsets[1] is 10; it must be at least 20, the "
      "end of the expert before it")
      << "one fault hides no other";
}

TEST_P(ExecutableTest, RefusesOutputAddressesBeforeAnyWork) {
  if (GetParam().device.kind != DeviceKind::kCpu) {
    GTEST_SKIP() << "addresses of a GPU run are device data, seen only under validation";
  }
  Case c = plain({10, 20});
  c.problem.output_mode = OutputMode::kDiscrete;
  const CaseData data(c);
  const Executable executable = prepared(c);
  EXPECT_EQ(refusal(executable, GetParam(), data,
                    [](Operands& o) {
                      static const std::int64_t kPtrs[] = {0, 72};
                      o.wgrad_ptrs = kPtrs;
                    }),
            "wgrad: wgrad_ptrs[0] is 0x0; it must be a non-null address aligned to 16 bytes\n"
            "wgrad_ptrs[1] is 0x48; it must be a non-null address aligned to 16 bytes");
  EXPECT_EQ(refusal(executable, GetParam(), data,
                    [](Operands& o) {
                      static const std::int64_t kPtrs[] = {4096, 4096};
                      o.wgrad_ptrs = kPtrs;
                    }),
            fmt::format("wgrad: wgrad_ptrs[1] is 0x1000, within the output of expert 0 at 0x1000; "
                        "it must be at least {} bytes from every other",
                        c.problem.m * c.problem.n * bits(c.problem.wgrad_dtype) / 8));
}

INSTANTIATE_TEST_SUITE_P(Backends, ExecutableTest, testing::ValuesIn(targets()),
                         [](const auto& param) { return target_name(param.param); });

static_assert(!std::is_constructible_v<Executable, std::nullptr_t>, "prepare() makes them");
static_assert(!std::is_default_constructible_v<Executable>);

std::string prepare_refusal(const Problem& p, const PrepareOptions& options) {
  try {
    prepare(p, host_spec(), options);
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(Prepare, RefusesAnUnknownBackendByName) {
  Case c;
  c.problem = problem_of(formats()[0], 40, 24);
  c.counts = {10};
  const std::string text = prepare_refusal(problem(c), {.backend = "abacus"});
  EXPECT_EQ(text.find("wgrad: backend is 'abacus'; it must be one of "), 0U) << text;
}

TEST(Prepare, RefusesABrokenProblemWithEveryReason) {
  Case c;
  c.problem = problem_of(formats()[0], 40, 43);
  c.problem.acc_dtype = DType::kF16;
  c.counts = {10};
  EXPECT_EQ(
      prepare_refusal(problem(c), {}),
      "wgrad: acc_dtype is float16; it must be float32\n"
      "n is 43 (86 bytes a row of the output); it must be a multiple of 8, unless the output's "
      "rows are padded");
}

TEST(Prepare, RefusesADeviceThatCannotBe) {
  Case c;
  c.problem = problem_of(formats()[0], 40, 24);
  c.counts = {10};
  DeviceSpec cpu = host_spec();
  cpu.threads = -5;
  cpu.sm_limit = 3;
  try {
    prepare(problem(c), cpu);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "wgrad: threads is -5; it must be 1 or more on a CPU\n"
                 "sm_limit is 3; it must be 0: the device is a CPU");
  }
}

TEST(Prepare, TheOracleIsNeverChosenUnasked) {
  Case c;
  c.problem = problem_of(formats()[0], 40, 24);
  c.counts = {10};
  try {
    EXPECT_NE(prepare(problem(c), host_spec()).backend(), "reference");
  } catch (const RuntimeError& error) {
    EXPECT_EQ(std::string(error.what()).find("reference"), std::string::npos);
  }
}

}  // namespace
}  // namespace wgrad::test
