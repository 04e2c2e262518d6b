// QuantizeConfig: everything that is fixed when a kernel that quantises is compiled.
#pragma once

#include "wgrad/shared/element.hpp"
#include "wgrad/shared/fields.hpp"

namespace wgrad::shared {

enum class SourceType : u8 { kBf16, kFp16, kFp32 };

// How a thread reads its rows.
enum class SourceOrder : u8 {
  kRowPairs,  // token-major: two rows side by side in one load
  kTokens,    // tokens contiguous: 16 bytes of a row where they are aligned, else one by one
  kElements,  // any strides, one by one
};

constexpr const char* name_of(SourceType type) {
  switch (type) {
    case SourceType::kBf16:
      return "SourceType::kBf16";
    case SourceType::kFp16:
      return "SourceType::kFp16";
    case SourceType::kFp32:
      return "SourceType::kFp32";
  }
  return nullptr;
}
constexpr const char* name_of(SourceOrder order) {
  switch (order) {
    case SourceOrder::kRowPairs:
      return "SourceOrder::kRowPairs";
    case SourceOrder::kTokens:
      return "SourceOrder::kTokens";
    case SourceOrder::kElements:
      return "SourceOrder::kElements";
  }
  return nullptr;
}

struct QuantizeConfig {
  SourceType source = SourceType::kBf16;
  SourceOrder order = SourceOrder::kRowPairs;
  ElementType element = ElementType::kE4m3;
  ScaleType scale = ScaleType::kE8m0;
  bool mn_major = false;    // of the result; FP8 alone
  bool stochastic = false;  // rounding by random bits; NVFP4 alone
  bool hadamard = false;    // blocks of 16 tokens are transformed first; NVFP4 alone

  bool operator==(const QuantizeConfig&) const = default;

  // shared/fields.hpp.
  template <typename Visit>
  static constexpr void visit_fields(Visit visit) {
#define WGRAD_FIELD(name) visit(field(#name, &QuantizeConfig::name, FieldOrigin::kProblem))
    WGRAD_FIELD(source);
    WGRAD_FIELD(order);
    WGRAD_FIELD(element);
    WGRAD_FIELD(scale);
    WGRAD_FIELD(mn_major);
    WGRAD_FIELD(stochastic);
    WGRAD_FIELD(hadamard);
#undef WGRAD_FIELD
  }
};
static_assert(visits_every_field<QuantizeConfig>());

constexpr bool is_valid(const QuantizeConfig& c) {
  const bool fp4 = c.element == ElementType::kE2m1;
  const bool nvfp4 = fp4 && c.scale == ScaleType::kE4m3;
  if (c.scale == ScaleType::kE4m3 && !fp4) return false;
  if (c.mn_major && fp4) return false;
  return nvfp4 || !(c.stochastic || c.hadamard);
}

inline constexpr i32 kUnitTokens = 32;  // a warp quantises 32 tokens of 64 rows at a time
inline constexpr i32 kUnitRows = 64;
inline constexpr i32 kQuantizeWarps = 4;  // of a CTA
inline constexpr i32 kQuantizeThreads = 32 * kQuantizeWarps;

// Tokens under one scale factor.
constexpr i32 vec_size(const QuantizeConfig& c) {
  return c.scale == ScaleType::kE4m3 ? 16 : 32;
}

// CTAs that an SM shall hold at once: as many as their registers allow without a spill.
constexpr i32 quantize_ctas(const QuantizeConfig& c) {
  const i32 wide = c.source == SourceType::kFp32 ? 1 : 0;
  if (c.scale == ScaleType::kE8m0) return c.order == SourceOrder::kTokens ? 5 - wide : 6;
  if (c.order != SourceOrder::kRowPairs) return c.stochastic ? 2 : 3;
  return c.hadamard ? 4 : 5 - wide;
}
constexpr i32 amax_ctas(const QuantizeConfig& c) {
  if (c.hadamard || c.source == SourceType::kFp32) return c.order == SourceOrder::kTokens ? 3 : 4;
  return c.order == SourceOrder::kRowPairs ? 8 : 5;
}

// Of one row in a unit.
constexpr i32 unit_bytes(const QuantizeConfig& c) {
  return kUnitTokens * element_bits(c.element) / 8;
}

// Shared memory in which K-major codes are turned round, so that neighbouring lanes store
// neighbouring bytes. A warp's own: 64 rows of a unit, a word apart so that the lanes meet in few
// banks. The CTA's, twice: 64 rows of its warps' units side by side.
inline constexpr i32 kTurnPitch = kUnitTokens + 4;
inline constexpr i32 kTurnBytes = kUnitRows * kTurnPitch;
constexpr i32 group_pitch(const QuantizeConfig& c) {
  return kQuantizeWarps * unit_bytes(c) + 16;
}
constexpr i32 group_bytes(const QuantizeConfig& c) {
  return kUnitRows * group_pitch(c);
}
constexpr i32 quantize_shared_bytes(const QuantizeConfig& c) {
  return c.mn_major ? 0 : kQuantizeWarps * kTurnBytes + 2 * group_bytes(c);
}

}  // namespace wgrad::shared
