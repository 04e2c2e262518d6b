#include "cpu/elements/cells.hpp"

#if !defined(__clang__)  // g++ 12 warns of the unused halves of its own AVX-512 intrinsics
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include "cpu/elements/cell_vectors.hpp"
#include "cpu/elements/encodings.hpp"

namespace wgrad::cpu {
namespace {

/// Any machine's loops, element by element; what the vectors must equal.
template <class In>
std::uint16_t plain_code(const Cell& cell, int vec, Major major, int row, int token) {
  if (row >= cell.rows || token >= cell.tokens) return 0;
  const std::int64_t line = major == Major::kK ? row : token;
  const std::int64_t place = major == Major::kK ? token : row;
  const std::uint8_t* from = cell.from + line * cell.pitch;
  if constexpr (std::is_void_v<In>) {
    return reinterpret_cast<const std::uint16_t*>(from)[place];
  } else {
    const float scale = cell.scales[token / vec * kCellRows + row];
    float value = 0;
    if constexpr (std::is_same_v<In, E2m1>) {
      value = In::value(token % 2 == 0 ? from[place / 2] & 15U : from[place / 2] >> 4);
    } else {
      value = In::value(from[place]) * (std::is_same_v<In, E4m3> ? 0x1p-8F : 1.0F);
    }
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value * scale) >> 16);
  }
}

template <class In, int kVec, CellOrder kOrder, Major kMajor>
void plain_pack(const Cell& cell, std::uint16_t* to, std::int64_t pitch) {
  const std::int64_t vectors = kOrder == CellOrder::kRows ? cell.rows : kCellRows;
  for (std::int64_t i = 0; i < vectors; ++i) {
    for (std::int64_t j = 0; j < kCellTokens; ++j) {
      const auto row = static_cast<int>(kOrder == CellOrder::kRows ? i : j / 2);
      const auto token = static_cast<int>(kOrder == CellOrder::kRows ? j : 2 * i + j % 2);
      to[i * pitch + j] = plain_code<In>(cell, kVec, kMajor, row, token);
    }
  }
}

struct Plain {
  template <class In, int kVec, CellOrder kOrder, Major kMajor>
  static constexpr PackCell kPack = &plain_pack<In, kVec, kOrder, kMajor>;
};

#if defined(__x86_64__)
struct Avx512 {
  template <class In, int kVec, CellOrder kOrder, Major kMajor>
  static constexpr PackCell kPack = &vectors::pack<In, kVec, kOrder, kMajor>;
};
#else
using Avx512 = Plain;
#endif

template <class Set, CellOrder kOrder, Major kMajor>
PackCell of_type(DType element, int vec) {
  switch (element) {
    case DType::kE4m3:
      return Set::template kPack<E4m3, 32, kOrder, kMajor>;
    case DType::kE5m2:
      return Set::template kPack<E5m2, 32, kOrder, kMajor>;
    case DType::kE2m1:  // K-major, as FP4 always is
      if (vec == 16) return Set::template kPack<E2m1, 16, kOrder, Major::kK>;
      return Set::template kPack<E2m1, 32, kOrder, Major::kK>;
    default:
      return Set::template kPack<void, 0, kOrder, kMajor>;
  }
}

template <class Set>
PackCell of_set(DType element, Major major, int vec, CellOrder order) {
  if (order == CellOrder::kRows) {
    return major == Major::kK ? of_type<Set, CellOrder::kRows, Major::kK>(element, vec)
                              : of_type<Set, CellOrder::kRows, Major::kMn>(element, vec);
  }
  return major == Major::kK ? of_type<Set, CellOrder::kPairs, Major::kK>(element, vec)
                            : of_type<Set, CellOrder::kPairs, Major::kMn>(element, vec);
}

bool has_vectors() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

}  // namespace

PackCell pack_cell(DType element, Major major, int vec, CellOrder order, bool portable) {
  static const bool kVectors = has_vectors();
  return kVectors && !portable ? of_set<Avx512>(element, major, vec, order)
                               : of_set<Plain>(element, major, vec, order);
}

const char* cell_instruction_set() {
  return has_vectors() ? "avx512" : "portable";
}

}  // namespace wgrad::cpu
