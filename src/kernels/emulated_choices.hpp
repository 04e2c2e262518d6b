// The choices that every family's fixed list of emulated kernels meets.
#pragma once

#include <array>
#include <cstddef>

#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::kernels {

struct OperandLayouts {
  shared::OperandLayout a;
  shared::OperandLayout b;
};

inline constexpr OperandLayouts kTokenMajor = {shared::OperandLayout::kMnMajor,
                                               shared::OperandLayout::kMnMajor};
/// All others that a problem can have: ragged operands are K-major.
inline constexpr std::array<OperandLayouts, 6> kOtherLayouts = {{
    {shared::OperandLayout::kKMajor, shared::OperandLayout::kKMajor},
    {shared::OperandLayout::kKMajor, shared::OperandLayout::kMnMajor},
    {shared::OperandLayout::kMnMajor, shared::OperandLayout::kKMajor},
    {shared::OperandLayout::kKMajorRagged, shared::OperandLayout::kKMajorRagged},
    {shared::OperandLayout::kKMajorRagged, shared::OperandLayout::kMnMajor},
    {shared::OperandLayout::kMnMajor, shared::OperandLayout::kKMajorRagged},
}};

/// Output type, mode and way of writing number `i` of 12: all that there are.
template <typename Config>
constexpr Config with_every_output(Config c, std::size_t i) {
  c.output = static_cast<shared::OutputType>(i % 3);
  c.output_mode = i / 3 % 2 == 0 ? shared::OutputMode::kDense : shared::OutputMode::kDiscrete;
  c.accumulate = i / 6 != 0;
  return c;
}

/// Number `i` of 3: a bf16 overwrite, an FP32 accumulate, a 16-bit accumulate into separate
/// matrices.
template <typename Config>
constexpr Config with_few_outputs(Config c, std::size_t i) {
  c.accumulate = i % 3 != 0;
  c.output = i % 3 == 1 ? shared::OutputType::kFp32 : shared::OutputType::kBf16;
  c.output_mode = i % 3 == 2 ? shared::OutputMode::kDiscrete : shared::OutputMode::kDense;
  return c;
}

/// fp16 operands into an fp16 output.
template <typename Config>
constexpr Config overwriting_fp16(Config c) {
  c.input = shared::InputType::kFp16;
  c.output = shared::OutputType::kFp16;
  return c;
}

/// fp16 operands into an FP32 output that accumulates.
template <typename Config>
constexpr Config accumulating_fp16(Config c) {
  c.input = shared::InputType::kFp16;
  c.output = shared::OutputType::kFp32;
  c.accumulate = true;
  return c;
}

/// `small(layouts)` with every output for token-major operands and a few for the other layouts,
/// then `specials`.
template <typename Config, std::size_t kSpecials>
constexpr auto emulated_configs(Config (*small)(OperandLayouts),
                                const std::array<Config, kSpecials>& specials) {
  std::array<Config, 12 + 3 * kOtherLayouts.size() + kSpecials> all{};
  std::size_t at = 0;
  for (std::size_t i = 0; i < 12; ++i) all[at++] = with_every_output(small(kTokenMajor), i);
  for (const OperandLayouts& layouts : kOtherLayouts) {
    for (std::size_t i = 0; i < 3; ++i) all[at++] = with_few_outputs(small(layouts), i);
  }
  for (const Config& special : specials) all[at++] = special;
  return all;
}

}  // namespace wgrad::kernels
