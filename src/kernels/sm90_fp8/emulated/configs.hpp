// The kernels for FP8 operands that the emulated machine runs: every pair of element types, both
// ways to sum, both orders, all widths, a pair of CTAs.
#pragma once

#include <array>

#include "wgrad/sm90_fp8/config.hpp"

namespace wgrad::kernels::sm90_fp8::emulated_configs {

using shared::ElementType;
using shared::Fp8Config;
using shared::OperandLayout;
using shared::OutputMode;
using shared::OutputType;

constexpr Fp8Config promoted(int tile_n, OperandLayout layout, OutputType output) {
  Fp8Config c;
  c.input = shared::InputType::kFp8;
  c.tile_k = shared::kSwizzleBytes;
  c.tile_n = tile_n;
  c.stages = 3;
  c.a = c.b = layout;
  c.output = output;
  c.partial_columns = true;
  return c;
}
constexpr Fp8Config in_place(Fp8Config c) {
  c.promote = false;
  return c;
}
constexpr Fp8Config elements(Fp8Config c, ElementType a, ElementType b) {
  c.element_a = a;
  c.element_b = b;
  return c;
}
constexpr Fp8Config adding(Fp8Config c, OutputMode mode) {
  c.accumulate = true;
  c.output_mode = mode;
  return c;
}
constexpr Fp8Config pair(Fp8Config c) {
  c.cluster_m = 2;
  return c;
}

constexpr OperandLayout kK = OperandLayout::kKMajor, kRagged = OperandLayout::kKMajorRagged;
constexpr ElementType kE4m3 = ElementType::kE4m3, kE5m2 = ElementType::kE5m2;

inline constexpr std::array kConfigs = {
    promoted(256, kK, OutputType::kBf16),
    pair(promoted(128, kK, OutputType::kFp32)),
    elements(adding(promoted(64, kK, OutputType::kFp16), OutputMode::kDiscrete), kE4m3, kE5m2),
    adding(promoted(128, kRagged, OutputType::kFp32), OutputMode::kDense),
    in_place(promoted(128, kK, OutputType::kBf16)),
    elements(in_place(promoted(64, kRagged, OutputType::kFp16)), kE4m3, kE5m2),
    elements(in_place(adding(pair(promoted(128, kK, OutputType::kFp32)), OutputMode::kDense)),
             kE5m2, kE5m2),
    elements(promoted(128, kK, OutputType::kFp32), kE5m2, kE4m3),
};

}  // namespace wgrad::kernels::sm90_fp8::emulated_configs
