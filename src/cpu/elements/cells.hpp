// Cells: 16 rows by 32 tokens of an operand as bfloat16, in the order in which matrix instructions
// read them, so that the library need not copy them again.
#pragma once

#include <cstdint>

#include "wgrad/dtype.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cpu {

constexpr std::int64_t kCellRows = 16;
constexpr std::int64_t kCellTokens = 32;

/// A cell inside an operand. What lies outside of `rows` and `tokens` is never read and counts as
/// zero.
struct Cell {
  const std::uint8_t* from = nullptr;  ///< element (0, 0)
  std::int64_t pitch = 0;  ///< bytes between lines: rows when K-major, tokens when MN-major
  int rows = kCellRows;
  int tokens = kCellTokens;
  /// One for each row, 16 of them for each block of tokens; under e4m3 elements each is 2^8 times
  /// its value. Unused where elements have 16 bits.
  const float* scales = nullptr;
};

/// What e4m3 elements' scales are multiplied by: a code's bits are a float16 2^8 times smaller.
constexpr int kE4m3ScaleExponent = 8;

/// kRows: vector i holds row i, token by token; only `rows` of them are written.
/// kPairs: vector i holds tokens 2 i and 2 i + 1 of all 16 rows, the two of a row side by side.
enum class CellOrder : std::uint8_t { kRows, kPairs };

/// Writes vectors of 32 bfloat16 codes, `pitch` codes apart, from `to`; each is aligned to 64
/// bytes.
using PackCell = void (*)(const Cell& cell, std::uint16_t* to, std::int64_t pitch);

/// For 16-bit elements `vec` is 0. FP4 cells are K-major. `portable` asks for the plain loops.
PackCell pack_cell(DType element, Major major, int vec, CellOrder order, bool portable = false);

/// "avx512" or "portable".
const char* cell_instruction_set();

}  // namespace wgrad::cpu
