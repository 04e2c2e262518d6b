#include "cpu/elements/scale_codes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "harness/random.hpp"
#include "support/harness.hpp"

namespace wgrad::cpu {
namespace {

/// By the layout's own words, byte by byte; whatever does not count holds a code beyond the others.
void expect_span(ScaleLayout layout, std::int64_t row, std::int64_t rows, std::int64_t tokens,
                 std::uint64_t seed) {
  constexpr std::int64_t kRows = 300;
  const scales::ScaleStorage storage{kRows, ceil_div(tokens, 32) + 3, 32, layout};
  const scales::ScaleBlock block = scales::scale_block(storage, 0, tokens);
  const std::int64_t columns = scales::scale_columns(tokens, 32, layout) + 3;
  test::Random random(seed);
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(round_up(kRows, 128) * columns));
  for (auto& byte : bytes) byte = random.chance(0.5) ? 0 : 255;
  CodeSpan want;
  for (std::int64_t r = row; r < row + rows; ++r) {
    for (std::int64_t b = 0; b < ceil_div(tokens, 32); ++b) {
      auto& code = bytes[static_cast<std::size_t>(block.offset(r, b))];
      code = static_cast<std::uint8_t>(random.integer(90, 140));
      want.low = std::min(want.low, code);
      want.high = std::max(want.high, code);
    }
  }
  const CodeSpan got = code_span({bytes.data(), block}, row, rows, ceil_div(tokens, 32));
  EXPECT_EQ(got.low, want.low) << row << " " << rows << " " << tokens;
  EXPECT_EQ(got.high, want.high) << row << " " << rows << " " << tokens;
}

TEST(ScaleCodes, CountsItsRowsAndBlocksAlone) {
  std::uint64_t seed = 1;
  for (const ScaleLayout layout : {ScaleLayout::kSwizzled, ScaleLayout::kCompact}) {
    for (const std::int64_t row : {0, 16, 112, 128, 208}) {
      for (const std::int64_t rows : {1, 16, 17, 48, 92}) {
        for (const std::int64_t tokens : {1, 32, 33, 128, 130, 300}) {
          expect_span(layout, row, rows, tokens, seed++);
        }
      }
    }
  }
}

TEST(ScaleCodes, NothingSpansNothing) {
  const CodeSpan span = code_span({}, 0, 0, 0);
  EXPECT_GT(span.low, span.high);
}

}  // namespace
}  // namespace wgrad::cpu
