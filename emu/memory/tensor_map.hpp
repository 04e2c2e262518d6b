// Tensor maps: encoded as the driver would (and refused as it would), decoded by the emulated copy
// engine. Source: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, "Tensors".
#pragma once

#include <array>
#include <cstdint>

#include "wgrad/shared/params.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::emu {

enum class Element : std::uint8_t { kBf16, kFp16, kFp32, kByte };
enum class Swizzle : std::uint8_t { kNone, k32, k64, k128 };
enum class Fill : std::uint8_t { kZero, kNan };

struct TensorMapFields {
  std::uint64_t base = 0;
  std::uint32_t rank = 0;  ///< 1 to 5
  Element element = Element::kBf16;
  std::array<std::uint64_t, 5> dims{};     ///< elements, innermost first, 1 to 2^32
  std::array<std::uint64_t, 4> strides{};  ///< bytes, of dims 1 ..; multiples of 16 below 2^40
  std::array<std::uint32_t, 5> box{};      ///< elements, 1 to 256
  Swizzle swizzle = Swizzle::k128;
  Fill fill = Fill::kZero;
};

std::uint32_t element_bytes(Element element) noexcept;
std::uint32_t swizzle_bytes(Swizzle swizzle) noexcept;  ///< 0 for kNone

/// Throws FaultError(kIllegal) for what the driver refuses, naming the field.
shared::TensorMap encode(const TensorMapFields& fields);
/// A recipe of the planner with its base address.
shared::TensorMap encode(const shared::TensorMapRecipe& recipe, std::uint64_t base);
/// Throws FaultError(kIllegal) for bytes that encode() did not make.
TensorMapFields decode(const shared::TensorMap& map);

/// One row of a box: `bytes` of its innermost dimension at `address`, of which [first, last) lie
/// inside the tensor.
struct BoxRow {
  std::uint64_t address = 0;  ///< of element 0 of the row, inside the tensor or not, modulo 2^64
  std::uint32_t first = 0;    ///< bytes
  std::uint32_t last = 0;     ///< equal to first: the whole row is outside
};

std::uint32_t box_rows(const TensorMapFields& map) noexcept;
std::uint32_t row_bytes(const TensorMapFields& map) noexcept;
/// Row `index` of the box whose first element has coordinates `x`, innermost first.
BoxRow box_row(const TensorMapFields& map, const std::int32_t* x, std::uint32_t index) noexcept;
/// Where the hardware traps: the box's first byte must lie on 16 bytes.
void require_aligned_box(const TensorMapFields& map, const std::int32_t* x);

/// A shared memory address with the swizzle's XOR applied to its 16-byte chunk bits.
std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address) noexcept;

}  // namespace wgrad::emu
