#include "core/counted.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace wgrad::core {
namespace {

TEST(Counted, OneIsSingular) {
  EXPECT_EQ(counted(0, "token"), "0 tokens");
  EXPECT_EQ(counted(1, "token"), "1 token");
  EXPECT_EQ(counted(std::int64_t{1} << 40, "byte"), "1099511627776 bytes");
}

}  // namespace
}  // namespace wgrad::core
