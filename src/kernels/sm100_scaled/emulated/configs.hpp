// The kernels for block-scaled operands that the emulated SM 10.0 runs: those that compute what the
// emulated SM 9.0's do, and a few beside.
#pragma once

#include <array>
#include <cstddef>

#include "kernels/sm90_scaled/emulated/configs.hpp"
#include "wgrad/sm100_scaled/config.hpp"

namespace wgrad::kernels::sm100_scaled::emulated_configs {

using shared::ElementType;
using shared::OperandLayout;
using shared::OutputType;
using shared::ScaleStorage;
using shared::ScaleType;
using shared::sm100_scaled::CodeWidth;
using shared::sm100_scaled::Config;

constexpr Config alike(const shared::ScaledConfig& from) {
  const bool packed = from.element_a == ElementType::kE2m1;
  return {.tile_n = 128,
          .tile_k = packed ? 256 : 128,
          .stages = 3,
          .input = packed ? CodeWidth::kNibble : CodeWidth::kByte,
          .output = from.output,
          .a = from.raw_a,
          .b = from.raw_b,
          .element_a = from.element_a,
          .element_b = from.element_b,
          .scale = from.scale,
          .vec_size = from.vec_size,
          .storage = from.storage,
          .global_scale = from.global_scale,
          .output_mode = from.output_mode,
          .accumulate = from.accumulate,
          .partial_columns = from.partial_columns};
}

inline constexpr std::array kSpecials = {
    Config{.tile_n = 256, .stages = 3, .element_b = ElementType::kE5m2},
    Config{.tile_n = 256,
           .stages = 2,
           .output = OutputType::kFp32,
           .a = OperandLayout::kMnMajor,
           .b = OperandLayout::kMnMajor,
           .element_a = ElementType::kE5m2,
           .global_scale = true,
           .accumulate = true},
    Config{.tile_n = 128,
           .stages = 3,
           .a = OperandLayout::kMnMajor,
           .b = OperandLayout::kKMajorRagged,
           .output_mode = shared::OutputMode::kDiscrete,
           .partial_columns = true},
    Config{.tile_n = 256,
           .tile_k = 256,
           .stages = 3,
           .input = CodeWidth::kNibble,
           .output = OutputType::kFp16,
           .a = OperandLayout::kKMajorRagged,
           .b = OperandLayout::kKMajorRagged,
           .element_a = ElementType::kE2m1,
           .element_b = ElementType::kE2m1,
           .scale = ScaleType::kE4m3,
           .vec_size = 16,
           .storage = ScaleStorage::kCompact,
           .global_scale = true,
           .accumulate = true},
};

constexpr auto all_configs() {
  constexpr auto& kSm90 = sm90_scaled::emulated_configs::kConfigs;
  std::array<Config, kSm90.size() + kSpecials.size()> all{};
  std::size_t at = 0;
  for (const shared::ScaledConfig& c : kSm90) all[at++] = alike(c);
  for (const Config& c : kSpecials) all[at++] = c;
  return all;
}
inline constexpr auto kConfigs = all_configs();

}  // namespace wgrad::kernels::sm100_scaled::emulated_configs
