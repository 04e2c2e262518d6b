#include "emu/tensor/matrix_descriptor.hpp"

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

MatrixDescriptor MatrixDescriptor::decode_tcgen05(std::uint64_t bits, bool mn_major,
                                                  const char* what) {
  const auto require = [&](bool ok, const char* rule) {
    if (ok) return;
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("shared memory descriptor {:#x} of {}: {}", bits, what, rule));
  };
  require((bits >> 46 & 7) == 1, "bits 46-48 must be 0b001");
  require((bits >> 49 & 7) == 0, "base offsets are not modelled");
  require((bits >> 52 & 1) == 0, "absolute leading addresses are not modelled");
  require((bits & 0x1fe00000c000c000) == 0, "reserved bits are set");
  constexpr int kCodes[] = {0, -1, 3, -1, 2, -1, 1, -1};  // Swizzle, by bits 61-63
  const int code = kCodes[bits >> 61];
  require(code >= 0, (bits >> 61) == 1 ? "128-byte swizzle by 32 bytes is not modelled"
                                       : "bits 61-63 are no swizzle");
  MatrixDescriptor d;
  d.start = static_cast<std::uint32_t>(bits & 0x3fff) << 4;
  d.leading = static_cast<std::uint32_t>(bits >> 16 & 0x3fff) << 4;
  d.stride = static_cast<std::uint32_t>(bits >> 32 & 0x3fff) << 4;
  d.swizzle = static_cast<Swizzle>(code);
  d.mn_major = mn_major;
  const std::uint32_t row = swizzle_bytes(d.swizzle);
  require(row == 0 || d.start % (8 * row) < row,
          "it starts inside a swizzle pattern, with base offset 0");
  return d;
}

std::uint32_t MatrixDescriptor::unit(std::uint32_t i, std::uint32_t j) const noexcept {
  const std::uint32_t row = swizzle_bytes(swizzle);  // bytes of a swizzled row
  if (mn_major) {
    if (swizzle == Swizzle::kNone) return start + i * stride + j % 8 * 16 + j / 8 * leading;
    const std::uint32_t per_row = row / 16;
    return swizzled(
        swizzle, start + i / per_row * leading + i % per_row * 16 + j / 8 * stride + j % 8 * row);
  }
  if (swizzle == Swizzle::kNone) return start + i / 8 * stride + i % 8 * 16 + j * leading;
  return swizzled(swizzle, start + i / 8 * stride + i % 8 * row + j * 16);
}

}  // namespace wgrad::emu
