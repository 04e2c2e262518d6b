// The kernels for block-scaled operands that the emulated machine runs: small stages and tiles,
// every format, both ways to decode A, every layout of codes and scale factors.
#pragma once

#include <array>

#include "wgrad/sm90_scaled/config.hpp"

namespace wgrad::kernels::sm90_scaled::emulated_configs {

using shared::ElementType;
using shared::InputType;
using shared::OperandLayout;
using shared::OutputMode;
using shared::OutputType;
using shared::ScaledConfig;
using shared::ScaleStorage;
using shared::ScaleType;

constexpr OperandLayout kK = OperandLayout::kKMajor;
constexpr OperandLayout kMn = OperandLayout::kMnMajor;
constexpr OperandLayout kRagged = OperandLayout::kKMajorRagged;

constexpr OperandLayout decoded(OperandLayout raw) {
  return is_mn_major(raw) ? kMn : kK;
}
constexpr ScaledConfig fp8(OperandLayout a, OperandLayout b, ElementType of_b) {
  ScaledConfig c;
  c.tile_n = 128;
  c.stages = c.raw_stages = c.ring_slots = 2;
  c.a = decoded(a);
  c.b = decoded(b);
  c.raw_a = a;
  c.raw_b = b;
  c.element_b = of_b;
  return c;
}
constexpr ScaledConfig fp4(OperandLayout raw, ScaleType scale, int vec_size) {
  ScaledConfig c = fp8(raw, raw, ElementType::kE2m1);
  c.element_a = ElementType::kE2m1;
  c.scale = scale;
  c.vec_size = vec_size;
  c.input = scale == ScaleType::kE4m3 ? InputType::kFp16 : InputType::kBf16;
  c.global_scale = scale == ScaleType::kE4m3;
  return c;
}
constexpr ScaledConfig in_registers(ScaledConfig c, int tile_m) {
  c.tile_m = tile_m;
  c.registers_a = true;
  return c;
}
constexpr ScaledConfig compact(ScaledConfig c) {
  c.storage = ScaleStorage::kCompact;
  return c;
}
constexpr ScaledConfig output(ScaledConfig c, OutputType type, bool accumulate, OutputMode mode) {
  c.output = type;
  c.accumulate = accumulate;
  c.output_mode = mode;
  c.partial_columns = true;
  return c;
}

constexpr ElementType kE4m3 = ElementType::kE4m3, kE5m2 = ElementType::kE5m2;
constexpr OutputMode kDense = OutputMode::kDense, kDiscrete = OutputMode::kDiscrete;

inline constexpr std::array kConfigs = {
    output(fp8(kMn, kMn, kE4m3), OutputType::kBf16, false, kDense),
    output(fp8(kMn, kMn, kE5m2), OutputType::kFp32, true, kDense),
    output(compact(fp8(kK, kMn, kE4m3)), OutputType::kFp16, true, kDiscrete),
    output(fp8(kK, kK, kE4m3), OutputType::kFp32, false, kDense),
    output(in_registers(fp8(kK, kK, kE4m3), 256), OutputType::kBf16, false, kDense),
    output(compact(in_registers(fp8(kRagged, kRagged, kE5m2), 128)), OutputType::kFp32, true,
           kDense),
    output(fp4(kK, ScaleType::kE4m3, 16), OutputType::kBf16, false, kDense),
    output(in_registers(fp4(kK, ScaleType::kE4m3, 16), 256), OutputType::kFp32, true, kDense),
    output(in_registers(fp4(kK, ScaleType::kE8m0, 32), 256), OutputType::kBf16, false, kDense),
    output(fp4(kRagged, ScaleType::kE8m0, 32), OutputType::kFp16, false, kDiscrete),
    output(fp4(kK, ScaleType::kE8m0, 16), OutputType::kFp32, false, kDense),
    output(in_registers(fp8(kMn, kMn, kE5m2), 256), OutputType::kBf16, true, kDense),
    output(compact(in_registers(fp8(kMn, kMn, kE4m3), 256)), OutputType::kFp32, false, kDiscrete),
};

}  // namespace wgrad::kernels::sm90_scaled::emulated_configs
