// Where the operands, scale factors and results of one tcgen05.mma lie. PTX ISA, 9.7.16.3 (shared
// memory), 9.7.16.10.5 "Data Path Layout Organization" (results), 9.7.16.10.7 (scale factors).
#pragma once

#include <cstdint>
#include <vector>

#include "emu/tensor/instruction_descriptor.hpp"
#include "emu/tensor/matrix_descriptor.hpp"
#include "emu/tensor/tensor_memory.hpp"
#include "wgrad/arch/emu/tcgen05_instructions.hpp"

namespace wgrad::emu {

inline constexpr std::uint32_t kAtomRows = 32;    // of an atom of scale factors, 16 bytes each
inline constexpr std::uint32_t kAtomColumns = 4;  // of tensor memory

/// One CTA's part of an operand: `rows` of M or N by 32 bytes of K, as 16-byte units.
struct OperandTile {
  MatrixDescriptor descriptor;
  const char* name = "";
  std::uint32_t rows = 0;
  std::uint32_t per_unit = 0;  ///< elements of 16 bytes
  std::uint32_t depth = 0;     ///< elements of K

  /// Calls `use(row, k, address)`: a unit holds elements k, k + 1, .. of a row (K-major), or rows
  /// row, row + 1, .. at one k (MN-major).
  template <typename Use>
  void for_each_unit(const Use& use) const {
    if (descriptor.mn_major) {
      for (std::uint32_t k = 0; k < depth; ++k) {
        for (std::uint32_t row = 0; row < rows; row += per_unit)
          use(row, k, descriptor.unit(row / per_unit, k));
      }
      return;
    }
    for (std::uint32_t row = 0; row < rows; ++row) {
      for (std::uint32_t k = 0; k < depth; k += per_unit)
        use(row, k, descriptor.unit(row, k / per_unit));
    }
  }
};

/// The source of tcgen05_copy_scales: 32 rows of 16 bytes.
OperandTile scale_atom(std::uint64_t descriptor);

/// Lane and column of element (i, j) of the results that CTA `rank` of the pair (or the only one)
/// holds; i counts from its own first row.
struct ResultPlace {
  std::uint32_t lane;
  std::uint32_t column;
};

struct TensorTiles {
  InstructionDescriptor instruction;
  std::uint32_t ctas = 1;
  std::uint32_t d = 0;
  OperandTile a;  ///< of each CTA
  OperandTile b;
  std::vector<TensorRange> results;  ///< in each CTA
  std::vector<TensorRange> scales;

  /// Decodes; throws FaultError for what the hardware forbids or the machine does not model.
  static TensorTiles of(const Multiplication& multiplication);

  std::uint32_t rows() const { return instruction.m / ctas; }  ///< of the results, in each CTA
  ResultPlace place(std::uint32_t i, std::uint32_t j) const;
};

}  // namespace wgrad::emu
