// F106: where an expert's tokens begin, and so how many the experts before it have, changes no bit
// of its result; nor does the major in which they are stored.
// Device code has its own OutputMode: before the public one.
#include "kernels/sm90/emulated/table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <utility>

#include "emu/bits/bit_cases.hpp"
#include "emu/fuzz/kernel_case.hpp"
#include "emu/fuzz/kernel_plan.hpp"
#include "harness/random.hpp"
#include "launch/emulated_launch.hpp"
#include "support/harness.hpp"

namespace wgrad::test {
namespace {

using shared::Config;
using shared::InputType;
using shared::OperandLayout;
using shared::OutputType;

constexpr OperandLayout kMn = OperandLayout::kMnMajor;
constexpr OperandLayout kK = OperandLayout::kKMajor;

constexpr Config kConfigs[] = {
    {.tile_n = 64, .stages = 3, .output = OutputType::kFp32, .a = kMn, .b = kMn},
    {.tile_n = 64,
     .stages = 3,
     .cluster_m = 2,
     .output = OutputType::kFp32,
     .a = kK,
     .b = kK,
     .accumulate = true},
    {.tile_n = 64,
     .stages = 3,
     .output = OutputType::kFp32,
     .a = kK,
     .b = kMn,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 64, .stages = 3, .cluster_m = 2, .output = OutputType::kFp32, .a = kMn, .b = kK},
    {.tile_n = 128,
     .stages = 4,
     .input = InputType::kFp16,
     .output = OutputType::kFp32,
     .a = kK,
     .b = kK,
     .split = shared::WarpgroupSplit::kTiles},
    {.tile_n = 128,
     .stages = 3,
     .input = InputType::kFp16,
     .output = OutputType::kFp16,
     .a = kMn,
     .b = kK,
     .output_mode = shared::OutputMode::kDiscrete,
     .accumulate = true},
    {.tile_n = 64, .stages = 3, .input = InputType::kFp16, .a = kK, .b = kMn, .accumulate = true},
};

constexpr std::int64_t kCount = 150, kRows = 40, kColumns = 24, kLastBegin = 40;

const kernels::sm90::CompiledKernel& kernel(std::size_t index) {
  static const auto kAll =
      kernels::sm90::compiled<kConfigs>(std::make_index_sequence<std::size(kConfigs)>());
  return kAll[index];
}

/// The same normal values for expert 1, wherever it begins.
void draw_expert(LogicalOperand& operand, std::uint64_t seed) {
  Random random(seed);
  for (std::int64_t row = 0; row < operand.rows; ++row) {
    for (std::int64_t k = 0; k < kCount; ++k) {
      operand.set(row, operand.begins[1] + k, random.normal());
    }
  }
}

/// Expert 1's codes after a run in which it begins at `begin`. `whole_lines`: the rows of K-major
/// operands start at 128-byte lines, so that boxes start at multiples of 64 tokens, not 8.
std::vector<std::uint32_t> bits_of_expert(std::size_t index, std::int64_t begin, bool whole_lines) {
  KernelCase k;
  k.m = kRows;
  k.n = kColumns;
  k.counts = {begin, kCount};
  k.slack = whole_lines ? 256 - begin - kCount : 3;
  k.seed = static_cast<std::uint64_t>(begin) + 1;
  k.values = Values::kNormal;
  const kernels::sm90::CompiledKernel& emulated = kernel(index);
  Case full = full_case(emulated.config, k);
  full.adjust = [](LogicalData& data) {
    draw_expert(data.a, 11);
    draw_expert(data.b, 12);
  };
  const CaseData data(full);
  Instance instance(data, aligned(host_device()));
  shared::FaultRecord record{};
  const emu::Outcome outcome = launch::launch_emulated(
      emulated.run, full.problem, plan_of(emulated.config, full.problem, k.sms),
      instance.operands(), {.adversary = {.seed = k.seed}}, record);
  if (outcome.fault) throw std::runtime_error(outcome.fault->text());
  const Bytes image = instance.output();
  std::vector<std::uint32_t> codes;
  for (std::int64_t i = 0; i < kRows; ++i) {
    for (std::int64_t j = 0; j < kColumns; ++j) {
      codes.push_back(read_code(image, data.output.cell_offset(1, i, j), full.problem.wgrad_dtype));
    }
  }
  return codes;
}

class Begin : public testing::TestWithParam<std::size_t> {};

TEST_P(Begin, ChangesNoBit) {
  const auto first = bits_of_expert(GetParam(), 0, false);
  for (std::int64_t begin = 0; begin <= kLastBegin; ++begin) {
    ASSERT_EQ(bits_of_expert(GetParam(), begin, true), first) << "begin " << begin;
    if (begin > shared::kWindowTokens) continue;
    ASSERT_EQ(bits_of_expert(GetParam(), begin, false), first)
        << "begin " << begin << ", boxes at 8";
  }
}

INSTANTIATE_TEST_SUITE_P(Configs, Begin, testing::Range(std::size_t{0}, std::size(kConfigs)));

TEST(Major, ChangesNoBit) {
  for (const std::int64_t begin : {0, 5, 37}) {
    const auto token_major = bits_of_expert(0, begin, true);
    EXPECT_EQ(bits_of_expert(2, begin, true), token_major) << begin;
    EXPECT_EQ(bits_of_expert(3, begin, false), token_major) << begin;
  }
}

}  // namespace
}  // namespace wgrad::test
