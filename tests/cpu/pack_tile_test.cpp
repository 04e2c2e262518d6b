#include "cpu/tiles/pack_tile.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

namespace wgrad::cpu {
namespace {

using dnnl::memory;

/// Rows x k bfloat16 codes, no two alike, packed from either major.
std::vector<std::uint16_t> packed(std::int64_t rows, std::int64_t tokens, Major major,
                                  CellOrder order) {
  std::vector<std::uint16_t> source(static_cast<std::size_t>(rows * tokens));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const std::int64_t at = major == Major::kK ? row * tokens + token : token * rows + row;
      source[static_cast<std::size_t>(at)] = static_cast<std::uint16_t>(1 + row * tokens + token);
    }
  }
  ExpertOperand x;
  x.base = reinterpret_cast<const std::uint8_t*>(source.data());
  x.major = major;
  x.ld = major == Major::kK ? tokens : rows;
  ScaleTable storage;  // NOLINT(cppcoreguidelines-pro-type-member-init): unused without scales
  const std::int64_t k = round_up(tokens, kCellTokens);
  const std::int64_t size = round_up(rows, kPairBlockRows) * k;
  std::vector<std::uint16_t> room(static_cast<std::size_t>(size + 32), 0xFFFF);
  auto* to = reinterpret_cast<std::uint16_t*>((reinterpret_cast<std::uintptr_t>(room.data()) + 63) /
                                              64 * 64);
  pack_tile(x, tile_packing(x, order, 0, DType::kE8m0, 0, storage), {0, rows, 0, tokens}, to);
  return {to, to + (order == CellOrder::kPairs ? size : rows * k)};
}

/// Where the library itself puts element (token, row) of a k x rows matrix of that format: by
/// letting it reorder floats, which every CPU can.
std::vector<float> reordered(std::int64_t rows, std::int64_t k, std::int64_t tokens) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  const memory::desc plain({k, rows}, memory::data_type::f32, memory::format_tag::ba);
  const memory::desc paired({k, rows}, memory::data_type::f32, memory::format_tag::BA16a64b2a);
  std::vector<float> from(static_cast<std::size_t>(rows * k));
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      from[static_cast<std::size_t>(row * k + token)] =
          static_cast<float>(1 + row * tokens + token);
    }
  }
  std::vector<float> to(paired.get_size() / sizeof(float));
  memory source(plain, engine, from.data());
  memory target(paired, engine, to.data());
  dnnl::stream stream(engine);
  dnnl::reorder(source, target).execute(stream, source, target);
  stream.wait();
  return to;
}

TEST(PackTile, PairsLieWhereTheLibraryPutsThem) {
  for (const Major major : {Major::kK, Major::kMn}) {
    for (const std::int64_t rows : {16, 64, 80, 200}) {
      for (const std::int64_t tokens : {1, 31, 32, 160}) {
        const auto got = packed(rows, tokens, major, CellOrder::kPairs);
        const auto want = reordered(rows, round_up(tokens, kCellTokens), tokens);
        ASSERT_EQ(got.size(), want.size());
        for (std::size_t i = 0; i < got.size(); ++i) {
          ASSERT_EQ(static_cast<float>(got[i]), want[i]) << rows << " x " << tokens << " at " << i;
        }
      }
    }
  }
}

TEST(PackTile, RowsHaveNoGaps) {
  for (const Major major : {Major::kK, Major::kMn}) {
    const auto got = packed(20, 40, major, CellOrder::kRows);
    ASSERT_EQ(got.size(), 20U * 64U);
    for (std::size_t row = 0; row < 20; ++row) {
      for (std::size_t token = 0; token < 64; ++token) {
        EXPECT_EQ(got[row * 64 + token], token < 40 ? 1 + row * 40 + token : 0);
      }
    }
  }
}

}  // namespace
}  // namespace wgrad::cpu
