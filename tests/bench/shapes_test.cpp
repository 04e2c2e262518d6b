#include "bench/shapes.hpp"

#include <gtest/gtest.h>

#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::bench {
namespace {

std::string refusal(const std::string& text) {
  return test::refusal<ValueError>([&] { parse_shapes(text, "some.txt"); });
}

TEST(Shapes, ReadsTheBuiltInFile) {
  const std::vector<Shape> shapes = parse_shapes(builtin_shapes(), "built-in");
  ASSERT_GE(shapes.size(), 12U);
  EXPECT_EQ(shapes[5].name, "mixtral-8x7b");
  EXPECT_EQ(shapes[5].experts, 8);
  EXPECT_EQ(shapes[5].m, 4096);
  EXPECT_EQ(shapes[5].n, 14336);
  EXPECT_EQ(shapes[5].tokens, 32768);
  EXPECT_EQ(shapes[5].distribution, Distribution::kJitter);
}

TEST(Shapes, SkipsCommentsAndEmptyLines) {
  const auto shapes = parse_shapes("# head\n\n  \nx 1 2 3 4 hot  # tail\r\n", "some.txt");
  ASSERT_EQ(shapes.size(), 1U);
  EXPECT_EQ(name(shapes[0].distribution), "hot");
}

TEST(Shapes, NamesTheLineItCannotRead) {
  EXPECT_EQ(refusal("a 1 2 3 4 even\nb 1 2 three 4 even\n"),
            "wgrad: some.txt line 2 is 'b 1 2 three 4 even'; it must be 'name experts m n tokens "
            "distribution'");
  EXPECT_EQ(refusal("a 1 2 3 4 even more"),
            "wgrad: some.txt line 1 is 'a 1 2 3 4 even more'; it must be 'name experts m n tokens "
            "distribution'");
  EXPECT_EQ(refusal("a 1 2 3 4 odd"),
            "wgrad: distribution is 'odd'; it must be even, jitter, zipf or hot");
}

TEST(Shapes, SelectsByNameInTheOrderAsked) {
  const auto shapes = parse_shapes("a 1 2 3 4 even\nb 1 2 3 4 even\n", "some.txt");
  const auto chosen = select_shapes(shapes, {"b", "a"});
  ASSERT_EQ(chosen.size(), 2U);
  EXPECT_EQ(chosen[0].name, "b");
  EXPECT_EQ(select_shapes(shapes, {}).size(), 2U);
  EXPECT_EQ(select_shapes(shapes, {"all"}).size(), 2U);
  EXPECT_EQ(test::refusal<ValueError>([&] { select_shapes(shapes, {"c"}); }),
            "wgrad: shape is 'c'; it must be 'all' or one of a, b");
}

}  // namespace
}  // namespace wgrad::bench
