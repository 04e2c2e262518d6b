// wgmma's 64-bit shared memory descriptors, decoded from bits. PTX ISA, "Asynchronous Warpgroup
// Level Matrix Shared Memory Layout" and "Matrix Descriptor Format".
#pragma once

#include <cstdint>

#include "emu/tensor_map.hpp"

namespace wgrad::emu {

struct MatrixDescriptor {
  std::uint32_t start = 0;    ///< shared address, bytes
  std::uint32_t leading = 0;  ///< leading dimension byte offset
  std::uint32_t stride = 0;   ///< stride dimension byte offset
  Swizzle swizzle = Swizzle::kNone;
  bool mn_major = false;

  /// Throws FaultError for bits no layout uses, or that are not modelled (base offset).
  static MatrixDescriptor decode(std::uint64_t bits, bool mn_major);

  /// Shared address of 16 bytes: 8 elements along K of row `mn` (K-major, `k` a multiple of 8), or
  /// 8 elements along M or N at one `k` (MN-major, `mn` a multiple of 8).
  std::uint32_t chunk(std::uint32_t mn, std::uint32_t k) const noexcept;
};

}  // namespace wgrad::emu
