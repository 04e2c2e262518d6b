// A fixed list of small configurations, compiled for the emulated machine. Every kernel here can
// store partial columns, and kMnMajor loads any extent, so that one kernel serves many problems.
#include "kernels/sm100/emulated_kernels.hpp"

#include <array>
#include <utility>

#include "kernels/sm100/emulated_table.hpp"

namespace wgrad::kernels::sm100 {
namespace {

using shared::InputType;
using shared::OperandLayout;
using shared::OutputMode;
using shared::OutputType;
using shared::sm100::Config;

constexpr OperandLayout kMn = OperandLayout::kMnMajor;
constexpr OperandLayout kK = OperandLayout::kKMajor;
constexpr OperandLayout kRagged = OperandLayout::kKMajorRagged;

struct Layouts {
  OperandLayout a;
  OperandLayout b;
};
constexpr Layouts kLayouts[] = {{kK, kK},           {kK, kMn},      {kMn, kK},
                                {kRagged, kRagged}, {kRagged, kMn}, {kMn, kRagged}};

// Token-major operands: every output type, mode and way of writing.
constexpr std::size_t kTokenMajor = 12;
constexpr std::size_t kOthers = 3 * std::size(kLayouts);
constexpr std::size_t kSpecial = 4;
constexpr std::size_t kCount = kTokenMajor + kOthers + kSpecial;

constexpr Config small(Layouts layouts) {
  return {.tile_n = 64, .stages = 3, .a = layouts.a, .b = layouts.b, .partial_columns = true};
}

constexpr Config token_major(std::size_t i) {
  Config c = small({kMn, kMn});
  c.output = static_cast<OutputType>(i % 3);
  c.output_mode = i / 3 % 2 == 0 ? OutputMode::kDense : OutputMode::kDiscrete;
  c.accumulate = i / 6 != 0;
  return c;
}

// A bf16 overwrite, an FP32 accumulate and a 16-bit accumulate into separate matrices of each.
constexpr Config other(std::size_t i) {
  Config c = small(kLayouts[i / 3]);
  c.accumulate = i % 3 != 0;
  c.output = i % 3 == 1 ? OutputType::kFp32 : OutputType::kBf16;
  c.output_mode = i % 3 == 2 ? OutputMode::kDiscrete : OutputMode::kDense;
  return c;
}

constexpr std::array<Config, kSpecial> kSpecials = {{
    {.tile_n = 192, .stages = 3, .partial_columns = true},
    {.tile_n = 128, .stages = 3, .cluster_m = 2, .a = kMn, .b = kMn, .partial_columns = true},
    {.tile_n = 64,
     .stages = 3,
     .input = InputType::kFp16,
     .output = OutputType::kFp16,
     .a = kMn,
     .b = kMn,
     .partial_columns = true},
    {.tile_n = 64,
     .stages = 3,
     .input = InputType::kFp16,
     .output = OutputType::kFp32,
     .a = kMn,
     .b = kMn,
     .accumulate = true,
     .partial_columns = true},
}};

constexpr Config config_at(std::size_t i) {
  if (i < kTokenMajor) return token_major(i);
  if (i < kTokenMajor + kOthers) return other(i - kTokenMajor);
  return kSpecials[i - kTokenMajor - kOthers];
}

template <std::size_t... kIndex>
constexpr std::array<Config, kCount> all_configs(std::index_sequence<kIndex...>) {
  return {config_at(kIndex)...};
}
constexpr std::array<Config, kCount> kConfigs = all_configs(std::make_index_sequence<kCount>());

}  // namespace

const std::vector<CompiledKernel>& emulated_kernels() {
  static const std::vector<CompiledKernel> kAll =
      compiled<kConfigs>(std::make_index_sequence<kCount>());
  return kAll;
}

}  // namespace wgrad::kernels::sm100
