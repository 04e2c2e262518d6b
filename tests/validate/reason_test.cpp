#include <gtest/gtest.h>

#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad {
namespace {

const Reason kBad{"extent", "m", "0", "at least 1"};
const Reason kMissing{"device", "device", "none", "a CPU", ReasonKind::kMissingCapability};

TEST(Reason, BadArgumentsCarryTheirReasons) {
  try {
    throw_if_unsupported({{kBad, kMissing}});
    FAIL() << "nothing was thrown";
  } catch (const ValueError& error) {
    EXPECT_STREQ(error.what(),
                 "wgrad: m is 0; it must be at least 1\ndevice is none; it must be a CPU");
    const auto* refusal = dynamic_cast<const Refusal*>(&error);
    ASSERT_NE(refusal, nullptr);
    EXPECT_EQ(refusal->reasons(), (std::vector<Reason>{kBad, kMissing}));
  }
}

TEST(Reason, MissingCapabilitiesAloneAreARuntimeError) {
  EXPECT_THROW(throw_if_unsupported({{kMissing}}), RuntimeError);
}

}  // namespace
}  // namespace wgrad
