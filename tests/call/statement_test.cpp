#include "call/statement.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "call/members.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::test {
namespace {

using call::Contract;
using call::NamedValues;
using call::Value;

/// As a third party holds them: by name, in no order.
Contract read_back(const NamedValues& values) {
  return call::contract_of_values([&](std::string_view name, Value& value) {
    const auto found = std::find_if(values.begin(), values.end(),
                                    [&](const auto& named) { return named.first == name; });
    ASSERT_NE(found, values.end()) << name;
    ASSERT_EQ(found->second.index(), value.index()) << name;
    value = found->second;
  });
}

Contract scaled() {
  Contract contract;
  contract.problem.scales = ScaleSpec{DType::kE8m0, 16, ScaleLayout::kCompact, true};
  contract.preparation = {"cuda", true, 64};
  return contract;
}

class StatementTest : public testing::TestWithParam<Contract> {};

TEST_P(StatementTest, EveryMemberButThePlaceComesBack) {
  for (const auto& [name, changed] : changed_one_by_one(GetParam())) {
    const Contract back = read_back(call::values_of(changed));
    EXPECT_TRUE(back.problem == changed.problem) << name;
    EXPECT_TRUE(back.preparation == changed.preparation) << name;
  }
}

TEST_P(StatementTest, EveryMemberAloneMakesOtherValuesButThePlace) {
  const NamedValues base = call::values_of(GetParam());
  for (const auto& [name, changed] : changed_one_by_one(GetParam())) {
    EXPECT_EQ(call::values_of(changed) != base, !name.starts_with("place")) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Contracts, StatementTest, testing::Values(Contract{}, scaled()));

TEST(Statement, ATextWithoutAMeaningIsRefusedByName) {
  NamedValues values = call::values_of(scaled());
  for (auto& [name, value] : values) {
    if (name == "a_major") value = std::string("q");
  }
  EXPECT_THROW(
      {
        try {
          read_back(values);
        } catch (const ValueError& error) {
          EXPECT_NE(std::string(error.what()).find("a_major is 'q'"), std::string::npos)
              << error.what();
          throw;
        }
      },
      ValueError);
}

}  // namespace
}  // namespace wgrad::test
