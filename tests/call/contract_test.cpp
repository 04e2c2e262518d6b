#include "call/contract.hpp"

#include <gtest/gtest.h>

#include <set>

#include "call/members.hpp"

namespace wgrad::test {
namespace {

using call::Contract;

Contract dense() {
  Contract contract;
  Problem& p = contract.problem;
  p.experts = 4;
  p.m = 64;
  p.n = 128;
  p.tokens = 256;
  return contract;
}

Contract strided() {
  Contract contract = dense();
  contract.problem.wgrad_row_pitch = 192;
  contract.problem.wgrad_expert_stride = 64 * 192 + 32;
  return contract;
}

Contract scaled() {
  Contract contract = dense();
  contract.problem.a_dtype = contract.problem.b_dtype = DType::kE4m3;
  contract.problem.scales = ScaleSpec{};
  return contract;
}

Contract on_a_gpu() {
  Contract contract = dense();
  contract.place = {DeviceKind::kCuda, 0};
  contract.problem.output_mode = OutputMode::kDiscrete;
  contract.preparation = {"cuda", true, 64, true};
  return contract;
}

call::Call call_of(const Contract& contract) {
  call::Call call;
  call.problem = contract.problem;
  call.place = contract.place;
  call.preparation = contract.preparation;
  return call;
}

class ContractTest : public testing::TestWithParam<Contract> {};

TEST_P(ContractTest, EveryMemberAloneMakesAnotherKeyButTheTokens) {
  const Contract base = GetParam();
  std::set<std::string> keys = {call::key_of(base)};
  for (const auto& [name, changed] : changed_one_by_one(base)) {
    const std::string key = call::key_of(changed);
    EXPECT_EQ(key, call::key_of(call_of(changed))) << name;
    if (name == "tokens") {
      EXPECT_EQ(key, call::key_of(base));
    } else {
      EXPECT_TRUE(keys.insert(key).second) << name << " has the key of another";
    }
  }
}

TEST_P(ContractTest, TheComparisonAndTheDescriptionSeeWhatTheKeySees) {
  const Contract base = GetParam();
  for (const auto& [name, changed] : changed_one_by_one(base)) {
    const call::Call call = call_of(changed);
    const bool same = call::key_of(changed) == call::key_of(base);
    EXPECT_EQ(call::serves(base, call), same) << name;
    EXPECT_EQ(call::differences(call, base).empty(), same) << name;
  }
}

TEST_P(ContractTest, OpenStridesAreNoDifference) {
  Contract base = GetParam();
  base.strides_open = true;
  for (const auto& [name, changed] : changed_one_by_one(base)) {
    const bool strides = name == "wgrad_row_pitch" || name == "wgrad_expert_stride";
    EXPECT_EQ(call::serves(base, call_of(changed)), strides || name == "tokens") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, ContractTest,
                         testing::Values(dense(), strided(), scaled(), on_a_gpu()));

TEST(OtherKeysTest, AreThoseOfTheMajorsLeftOpen) {
  call::Call call = call_of(dense());
  EXPECT_TRUE(call::other_keys(call).empty());
  call.a_open = true;
  ASSERT_EQ(call::other_keys(call).size(), 1);
  Contract other = dense();
  other.problem.a_major = Major::kK;
  EXPECT_EQ(call::other_keys(call)[0], call::key_of(other));
  call.b_open = true;
  EXPECT_EQ(call::other_keys(call).size(), 3);
}

}  // namespace
}  // namespace wgrad::test
