#include "codegen/sm90_source.hpp"

#include <fmt/format.h>

#include <string_view>

#include "wgrad/shared/params.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::codegen {
namespace {

using shared::Config;

std::string_view spelled(shared::InputType type) {
  return type == shared::InputType::kFp16 ? "InputType::kFp16" : "InputType::kBf16";
}

std::string_view spelled(shared::OutputType type) {
  switch (type) {
    case shared::OutputType::kFp16:
      return "OutputType::kFp16";
    case shared::OutputType::kFp32:
      return "OutputType::kFp32";
    default:
      return "OutputType::kBf16";
  }
}

std::string_view spelled(shared::OperandLayout layout) {
  switch (layout) {
    case shared::OperandLayout::kMnMajor:
      return "OperandLayout::kMnMajor";
    case shared::OperandLayout::kKMajor:
      return "OperandLayout::kKMajor";
    case shared::OperandLayout::kKMajorRagged:
      return "OperandLayout::kKMajorRagged";
    default:
      return "OperandLayout::kMnMajorBlocked";
  }
}

std::string_view spelled(shared::OutputMode mode) {
  return mode == shared::OutputMode::kDiscrete ? "OutputMode::kDiscrete" : "OutputMode::kDense";
}

std::string_view spelled(shared::WarpgroupSplit split) {
  return split == shared::WarpgroupSplit::kTiles ? "WarpgroupSplit::kTiles"
                                                 : "WarpgroupSplit::kRows";
}

std::string config_text(const Config& c) {
  return fmt::format(
      "constexpr Config kConfig{{\n"
      "    .tile_m = {}, .tile_n = {}, .tail_n = {}, .tile_k = {}, .stages = {}, "
      ".cluster_m = {}, .split_k = {},\n    .ring_slots = {},\n"
      "    .input = {}, .output = {},\n"
      "    .a = {}, .b = {},\n"
      "    .output_mode = {}, .accumulate = {}, .prefetch_boxes = {}, .partial_columns = {},\n"
      "    .split = {}, .trace = {}}};\n",
      c.tile_m, c.tile_n, c.tail_n, c.tile_k, c.stages, c.cluster_m, c.split_k, c.ring_slots,
      spelled(c.input), spelled(c.output), spelled(c.a), spelled(c.b), spelled(c.output_mode),
      c.accumulate, c.prefetch_boxes, c.partial_columns, spelled(c.split), c.trace);
}

/// The compilation fails where host and device would disagree.
std::string agreement_text(const Config& c) {
  return fmt::format(
      "static_assert(smem_layout(kConfig).total == {}u, \"host and device: shared memory\");\n"
      "static_assert(threads_per_cta(kConfig) == {}, \"host and device: threads\");\n"
      "static_assert(sizeof(KernelParams) == {}, \"host and device: parameters\");\n",
      shared::smem_layout(c).total, shared::threads_per_cta(c), sizeof(shared::KernelParams));
}

constexpr std::string_view kEntry =
    "extern \"C\" __device__ ClaimCounters wgrad_claims[kClaimSlots];\n"
    "__device__ ClaimCounters wgrad_claims[kClaimSlots];\n\n"
    "extern \"C\" __global__ void __launch_bounds__(threads_per_cta(kConfig), 1)\n"
    "    wgrad_sm90(const __grid_constant__ KernelParams params) {\n"
    "  wgrad::device::wgrad_sm90<kConfig>(params);\n"
    "}\n";

}  // namespace

KernelSource sm90_source(const Config& c) {
  KernelSource source;
  source.name = fmt::format("wgrad_sm90 {}x{}x{} cluster {} split {} {}", c.tile_m, c.tile_n,
                            c.tile_k, c.cluster_m, c.split_k,
                            c.split == shared::WarpgroupSplit::kTiles ? "pingpong" : "cooperative");
  source.entry = "wgrad_sm90";
  source.text = fmt::format(
      "#include \"wgrad/sm90/wgrad_sm90.cuh\"\n\nusing namespace wgrad::shared;\n\n{}\n{}\n{}",
      config_text(c), agreement_text(c), kEntry);
  source.options = {"--gpu-architecture=sm_90a", "--std=c++20",
                    "--device-as-default-execution-space", "--ptxas-options=-v"};
  return source;
}

}  // namespace wgrad::codegen
