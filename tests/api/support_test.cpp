#include "wgrad/support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "backends/backend.hpp"
#include "harness/random.hpp"
#include "support/random_case.hpp"
#include "support/sentences.hpp"
#include "support/targets.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::test {
namespace {

DeviceSpec gpu(int arch) {
  DeviceSpec spec;
  spec.kind = DeviceKind::kCuda;
  spec.name = "a GPU written by hand";
  spec.arch = arch;
  spec.sm_count = 132;
  spec.smem_bytes = 232448;
  spec.l2_bytes = 50 << 20;
  return spec;
}

/// CPUs and GPUs that need not exist here.
std::vector<DeviceSpec> devices() {
  return {host_spec(), gpu(70), gpu(80), gpu(90), gpu(100), gpu(103), gpu(120)};
}

/// A random problem, one time in three with one field changed to something outside the contract.
Problem random_problem(std::uint64_t seed) {
  Problem p = problem(random_case(seed));
  Random random(seed * 31 + 7);
  switch (random.integer(0, 29)) {
    case 0:
      p.m = random.integer(-1, 0);
      break;
    case 1:
      p.wgrad_row_pitch = p.n - 1;
      break;
    case 2:
      p.acc_dtype = DType::kBf16;
      break;
    case 3:
      p.wgrad_dtype = DType::kE5m2;
      break;
    case 4:
      p.tiling = {static_cast<int>(64 * random.integer(1, 5)), 96, 0, 0};
      break;
    case 5:
      p.tiling.cluster_m = 3;
      break;
    case 6:
      p.b_dtype = DType::kF32;
      break;
    case 7:
      p.scales = ScaleSpec{DType::kE4m3, 32, ScaleLayout::kSwizzled, false};
      break;
    case 8:
      p.experts = 0;
      break;
    case 9:
      p.wgrad_expert_stride = 8;
      break;
    default:
      if (random.chance(0.5)) {
        constexpr int kTileN[] = {64, 128, 192, 256};
        p.tiling.tile_m = random.chance(0.5) ? 128 : 256;
        p.tiling.tile_n = random.pick(kTileN);
      }
  }
  return p;
}

bool is_oracle(const backends::Backend* backend) {
  return backend->name() == "reference";
}

bool some_planner_has_a_candidate(const Problem& p, const DeviceSpec& device) {
  const auto all = backends::all();
  return validate::broken_rules(p).empty() &&
         std::any_of(all.begin(), all.end(), [&](const backends::Backend* backend) {
           return !is_oracle(backend) && !backend->candidates(p, device).empty();
         });
}

TEST(Support, IsYesExactlyWhereAPlannerHasACandidate) {
  int yes = 0;
  int no = 0;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    const Problem p = random_problem(seed);
    for (const DeviceSpec& device : devices()) {
      const bool supported = static_cast<bool>(check_support(p, device));
      ASSERT_EQ(supported, some_planner_has_a_candidate(p, device))
          << "seed " << seed << " on " << device.name << " " << device.arch << ": "
          << sentences(check_support(p, device).reasons);
      ++(supported ? yes : no);
    }
  }
  EXPECT_GT(no, 500);
  if (judged_targets().front().backend != "reference") {
    EXPECT_GT(yes, 100);
  }
}

TEST(Support, EachBackendPlansExactlyWhatItsLimitsAllow) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem p = random_problem(seed);
    if (!validate::broken_rules(p).empty()) continue;
    for (const DeviceSpec& device : devices()) {
      for (const backends::Backend* backend : backends::all()) {
        ASSERT_EQ(backend->limits(p, device).empty(), !backend->candidates(p, device).empty())
            << backend->name() << " seed " << seed << " arch " << device.arch << "\n"
            << sentences(backend->limits(p, device));
      }
    }
  }
}

TEST(Support, ExplainAgrees) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    const Problem p = random_problem(seed);
    for (const DeviceSpec& device : devices()) {
      const Explanation explanation = explain(p, device);
      ASSERT_FALSE(explanation.candidates.empty());
      const bool usable = std::any_of(
          explanation.candidates.begin(), explanation.candidates.end(),
          [](const Candidate& c) { return c.reasons.empty() && c.backend != "reference"; });
      ASSERT_EQ(usable, static_cast<bool>(check_support(p, device))) << "seed " << seed;
    }
  }
}

TEST(Support, EveryRefusalIsASentenceWithAllItsParts) {
  std::set<std::string> rules;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    for (const DeviceSpec& device : devices()) {
      for (const Reason& reason : check_support(random_problem(seed), device).reasons) {
        ASSERT_FALSE(reason.rule.empty() || reason.field.empty() || reason.got.empty() ||
                     reason.need.empty())
            << to_string(reason);
        rules.insert(reason.rule);
      }
    }
  }
  EXPECT_GE(rules.size(), 8U);
}

TEST(Support, MissingCapabilitiesAreNotBadArguments) {
  const Problem p = problem(random_case(1));
  for (const Reason& reason : check_support(p, gpu(70)).reasons) {
    EXPECT_EQ(reason.kind, ReasonKind::kMissingCapability) << to_string(reason);
  }
  EXPECT_THROW(throw_if_unsupported(check_support(p, gpu(70))), RuntimeError);
  Problem bad = p;
  bad.m = 0;
  EXPECT_THROW(throw_if_unsupported(check_support(bad, gpu(70))), ValueError);
}

// 16-bit rows are 16-byte aligned: only a call's leading dimensions tell.
TEST(Support, JudgesLeadingDimensionsWhereTheyAreKnown) {
  Problem p = problem_of(formats()[0], 64, 7);
  p.wgrad_dtype = DType::kF32;
  p.wgrad_row_pitch = 8;
  p.experts = 2;
  p.tokens = 100;
  p.a_major = Major::kK;
  p.b_major = Major::kMn;
  EXPECT_TRUE(check_support(p, host_spec(), "reference"));
  EXPECT_TRUE(check_support(p, host_spec(), "reference", {104, 8}));
  const Support packed = check_support(p, host_spec(), "reference", {});
  EXPECT_EQ(sentences(packed.reasons),
            "a_ld is 100 elements (200 bytes); it must be a multiple of 16 bytes: pad "
            "the contiguous axis\nb_ld is 7 elements (14 bytes); it must be a multiple "
            "of 16 bytes: pad the contiguous axis");
  p.acc_dtype = DType::kF16;
  EXPECT_EQ(sentences(check_support(p, host_spec(), "abacus", {96, 8}).reasons).substr(0, 69),
            "acc_dtype is float16; it must be float32\nbackend is 'abacus'; it must");
  EXPECT_EQ(check_support(p, host_spec(), "abacus", {96, 8}).reasons.back().field, "a_ld")
      << "every fault that can be seen, whatever else is wrong";
  p.acc_dtype = DType::kF32;
  p.tokens = 0;
  EXPECT_TRUE(check_support(p, host_spec(), "reference", {}));
}

// Of memory that the host cannot read: only the addresses are looked at.
TEST(Support, JudgesOperandsWithoutADevice) {
  Problem p = problem_of(formats()[0], 16, 8);
  p.experts = 1;
  p.tokens = 8;
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<void*>(address); };
  Operands o;
  o.tokens = p.tokens;
  o.a = at(0x10000);
  o.b = at(0x20000);
  o.offsets = static_cast<const std::int32_t*>(at(0x30000));
  o.wgrad = at(0x40000);
  EXPECT_EQ(sentences(check_operands(p, o).reasons), "");
  o.wgrad = at(0x40008);
  EXPECT_EQ(sentences(check_operands(p, o).reasons),
            "wgrad is at address 0x40008; it must be aligned to 16 bytes");
  o.wgrad = at(0x20010);
  EXPECT_EQ(sentences(check_operands(p, o).reasons),
            "b is at address 0x20000, in the memory of the output; it must be apart from what is "
            "written while it is read");
  p.m = 0;
  EXPECT_EQ(sentences(check_operands(p, o).reasons), "m is 0; it must be from 1 to 2147483647");
}

TEST(Support, JudgesAddressesThatTheHostHolds) {
  Problem p = problem_of(formats()[0], 16, 8);
  p.experts = 2;
  p.tokens = 8;
  p.output_mode = OutputMode::kDiscrete;
  Operands o;
  o.tokens = p.tokens;
  o.a = reinterpret_cast<const void*>(std::uintptr_t{0x10000});
  const auto refusal = [&](std::int64_t first, std::int64_t second) {
    const std::array addresses{first, second};
    return sentences(check_data(p, o, {}, addresses).reasons);
  };
  EXPECT_EQ(refusal(0x40000, 0x40100), "");
  EXPECT_EQ(refusal(0x40000, 0x400f0),
            "wgrad_ptrs[1] is 0x400f0, within the output of expert 0 at 0x40000; it must be at "
            "least 256 bytes from every other");
  EXPECT_EQ(refusal(0x40000, 0x10010),
            "a is at address 0x10000, in the memory of the output of expert 1; it must be apart "
            "from what is written while it is read");
  EXPECT_EQ(
      refusal(0, 0x40008),
      "wgrad_ptrs[0] is 0x0; it must be a non-null address aligned to 16 bytes\nwgrad_ptrs[1] "
      "is 0x40008; it must be a non-null address aligned to 16 bytes");
}

TEST(Support, ABackendRefusesDevicesOfAnotherKindByName) {
  const Problem p = problem(random_case(1));
  for (const std::string& name : {std::string("reference"), std::string("cpu")}) {
    if (!check_support(p, host_spec(), name)) continue;  // a build may leave it out
    EXPECT_EQ(sentences(check_support(p, gpu(90), name).reasons),
              "device is a GPU written by hand; it must be a CPU for the " + name + " backend");
  }
}

TEST(Support, ABackendCanBeAskedForByName) {
  const Problem p = problem(random_case(1));
  EXPECT_TRUE(check_support(p, host_spec(), "reference"));
  const auto reasons = check_support(p, host_spec(), "abacus").reasons;
  ASSERT_EQ(reasons.size(), 1U);
  EXPECT_EQ(to_string(reasons[0]).find("backend is 'abacus'; it must be one of "), 0U);
  EXPECT_NE(to_string(reasons[0]).find("reference"), std::string::npos);
}

}  // namespace
}  // namespace wgrad::test
