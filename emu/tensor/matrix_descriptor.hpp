// 64-bit shared memory descriptors, decoded from bits. wgmma's: PTX ISA, "Asynchronous Warpgroup
// Level Matrix Shared Memory Layout" and "Matrix Descriptor Format". tcgen05's: 9.7.16.4.1 "Shared
// memory descriptor", 9.7.16.3.3 "Canonical Layouts" (the same layouts, other bits).
#pragma once

#include <cstdint>

#include "emu/memory/tensor_map.hpp"

namespace wgrad::emu {

struct MatrixDescriptor {
  std::uint32_t start = 0;    ///< shared address, bytes
  std::uint32_t leading = 0;  ///< leading dimension byte offset
  std::uint32_t stride = 0;   ///< stride dimension byte offset
  Swizzle swizzle = Swizzle::kNone;
  bool mn_major = false;

  /// Throws FaultError for bits no layout uses, or that are not modelled (base offset).
  static MatrixDescriptor decode(std::uint64_t bits, bool mn_major);
  /// The same for tcgen05's bits; `what` names the operand.
  static MatrixDescriptor decode_tcgen05(std::uint64_t bits, bool mn_major, const char* what);

  /// Shared address of 16 bytes: 8 elements along K of row `mn` (K-major, `k` a multiple of 8), or
  /// 8 elements along M or N at one `k` (MN-major, `mn` a multiple of 8).
  std::uint32_t chunk(std::uint32_t mn, std::uint32_t k) const noexcept {
    return mn_major ? unit(mn / 8, k) : unit(mn, k / 8);
  }
  /// The same for elements of any size: 16 bytes, number `j` along K of row `i` (K-major), or
  /// number `i` along M or N at K `j` (MN-major).
  std::uint32_t unit(std::uint32_t i, std::uint32_t j) const noexcept;
};

}  // namespace wgrad::emu
