// Element types a tensor may arrive with, wider than those wgrad computes on.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wgrad/dtype.hpp"

namespace wgrad::call {

enum class Element : std::uint8_t {
  kBf16,
  kF16,
  kF32,
  kE4m3,
  kE5m2,
  kE8m0,
  kE2m1Packed,    ///< two per byte
  kE2m1Unpacked,  ///< one per byte, as ml_dtypes stores them
  kU8,
  kI32,
  kI64,
  kOther,
};

/// By the name a framework's dtype prints, with or without "torch."; kOther where none is known.
Element element_named(std::string_view name);

/// The element type wgrad computes on; uint8 holds packed FP4 in A and B. Nullopt: none.
std::optional<DType> operand_dtype(Element element) noexcept;
/// Type of an output; nullopt where wgrad writes no such type.
std::optional<DType> output_dtype(Element element) noexcept;

/// DType by its framework spelling; throws ValueError naming `field`.
DType dtype_named(std::string_view name, const char* field);

std::string_view name(Element element) noexcept;

}  // namespace wgrad::call
