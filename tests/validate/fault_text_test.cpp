#include "validate/fault_text.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wgrad::validate {
namespace {

TEST(FaultText, EachKindHasItsOwn) {
  using shared::FaultKind;
  std::set<std::string> texts;
  for (const FaultKind kind :
       {FaultKind::kOffsetDecreases, FaultKind::kOffsetNegative, FaultKind::kOffsetBeyond,
        FaultKind::kPointerNull, FaultKind::kPointerAlignment, FaultKind::kBeginOdd,
        FaultKind::kScaleColumns}) {
    texts.insert(fault_text(kind));
  }
  EXPECT_EQ(texts.size(), 7U);
  EXPECT_EQ(texts.count(fault_text(FaultKind::kNone)), 0U);
}

}  // namespace
}  // namespace wgrad::validate
