#include "emu/matrix_descriptor.hpp"

#include <fmt/format.h>

#include "emu/fault.hpp"

namespace wgrad::emu {

MatrixDescriptor MatrixDescriptor::decode(std::uint64_t bits, bool mn_major) {
  constexpr std::uint64_t kUsed = 0xc00e3fff3fff3fff;
  if ((bits & ~kUsed) != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("matrix descriptor {:#x} sets reserved bits", bits));
  }
  if ((bits >> 49 & 7) != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("matrix descriptor {:#x}: base offsets are not modelled", bits));
  }
  MatrixDescriptor d;
  d.start = static_cast<std::uint32_t>(bits & 0x3fff) << 4;
  d.leading = static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4;
  d.stride = static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4;
  constexpr Swizzle kModes[] = {Swizzle::kNone, Swizzle::k128, Swizzle::k64, Swizzle::k32};
  d.swizzle = kModes[bits >> 62];
  d.mn_major = mn_major;
  return d;
}

std::uint32_t MatrixDescriptor::chunk(std::uint32_t mn, std::uint32_t k) const noexcept {
  const std::uint32_t row = swizzle_bytes(swizzle);  // bytes of a swizzled row
  if (mn_major) {
    const std::uint32_t j = mn / 8;
    if (swizzle == Swizzle::kNone) return start + j * stride + k % 8 * 16 + k / 8 * leading;
    const std::uint32_t per_row = row / 16;
    return swizzled(
        swizzle, start + j / per_row * leading + j % per_row * 16 + k / 8 * stride + k % 8 * row);
  }
  if (swizzle == Swizzle::kNone) return start + mn / 8 * stride + mn % 8 * 16 + k / 8 * leading;
  return swizzled(swizzle, start + mn / 8 * stride + mn % 8 * row + k * 2);
}

}  // namespace wgrad::emu
