// The kernels for block-scaled operands that the library has for the emulated machine: small stages
// and tiles, every format, both ways to decode A, every layout of codes and scale factors.
#include <array>
#include <utility>

#include "kernels/sm90_scaled/emulated_kernels.hpp"
#include "wgrad/sm90_scaled/wgrad_sm90_scaled.cuh"

namespace wgrad::kernels::sm90_scaled {
namespace {

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

constexpr std::array kConfigs = {
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
};

template <std::size_t kIndex>
void run_kernel(const void* parameters) {
  device::wgrad_sm90_scaled<kConfigs[kIndex]>(
      *static_cast<const shared::ScaledParams*>(parameters));
}

template <std::size_t... kIndex>
std::vector<CompiledKernel> compiled(std::index_sequence<kIndex...>) {
  return {CompiledKernel{kConfigs[kIndex], &run_kernel<kIndex>}...};
}

}  // namespace

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled(std::make_index_sequence<kConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::kernels::sm90_scaled
