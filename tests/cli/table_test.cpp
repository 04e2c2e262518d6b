#include "cli/text/table.hpp"

#include <gtest/gtest.h>

namespace wgrad::cli {
namespace {

TEST(Table, AlignsNumbersRightAndWordsLeft) {
  Table table({"shape", "ms"});
  table.add({"a", "12.5"});
  table.add({"longer-name", "3.0"});
  EXPECT_EQ(table.text(),
            "shape          ms\n"
            "a            12.5\n"
            "longer-name   3.0\n");
}

TEST(Table, LeavesNoBlanksAtTheEndOfALine) {
  Table table({"a", "b"});
  table.add({"x", ""});
  EXPECT_EQ(table.text(), "a  b\nx\n");
}

}  // namespace
}  // namespace wgrad::cli
