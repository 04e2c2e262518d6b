// tcgen05.mma's 32-bit instruction descriptor, decoded from bits. PTX ISA, 9.7.16.4.2 "Instruction
// descriptor" (tables of the kinds), 9.7.16.2.1 "Matrix Shape" (legal M and N), 9.7.16.10.3
// (majors).
#pragma once

#include <cstdint>

#include "wgrad/shared/mma_kind.hpp"

namespace wgrad::emu {

enum class MmaElement : std::uint8_t { kFp16, kBf16, kE4m3, kE5m2, kE2m1 };

struct InstructionDescriptor {
  MmaElement a = MmaElement::kFp16;
  MmaElement b = MmaElement::kFp16;
  bool a_mn_major = false;
  bool b_mn_major = false;
  std::uint32_t m = 0;  ///< of the pair, where two CTAs multiply
  std::uint32_t n = 0;
  std::uint32_t scale_byte_a = 0;  ///< the first byte taken of a word of scale factors
  std::uint32_t scale_byte_b = 0;
  bool e8m0 = false;  ///< scale factors; otherwise e4m3

  /// Throws FaultError for bits that PTX reserves or forbids, and for what is not modelled: sparse
  /// operands, negation, FP16 results, K of 96.
  static InstructionDescriptor decode(std::uint32_t bits, shared::MmaKind kind, std::uint32_t ctas);
};

}  // namespace wgrad::emu
