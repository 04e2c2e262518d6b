#include "quantize/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "core/field_text.hpp"
#include "kernels/call_parameters.hpp"
#include "wgrad/quantize/codes.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::quantize {
namespace {

using kernels::address;
using kernels::KernelSource;
using kernels::LaunchImage;
using shared::QuantizeConfig;
using shared::QuantizeParams;
using shared::SourceOrder;

constexpr std::int64_t kCtasOfAnSm = 24;  // some times what runs at once: the last ones even out

const char* entry_of(Stage stage) {
  return stage == Stage::kTable  ? "wgrad_quantize_table"
         : stage == Stage::kAmax ? "wgrad_quantize_amax"
                                 : "wgrad_quantize";
}

int shared_bytes(const KernelId& kernel) {
  if (kernel.stage == Stage::kTable) return 4 * shared::kQuantizeThreads;
  return kernel.stage == Stage::kCodes ? shared::quantize_shared_bytes(kernel.config) : 0;
}

int ctas_of(const KernelId& kernel) {
  if (kernel.stage == Stage::kTable) return 1;
  return kernel.stage == Stage::kAmax ? shared::amax_ctas(kernel.config)
                                      : shared::quantize_ctas(kernel.config);
}

shared::SourceType source_type(DType dtype) {
  return dtype == DType::kBf16  ? shared::SourceType::kBf16
         : dtype == DType::kF16 ? shared::SourceType::kFp16
                                : shared::SourceType::kFp32;
}

shared::ElementType element_type(DType dtype) {
  return dtype == DType::kE4m3   ? shared::ElementType::kE4m3
         : dtype == DType::kE5m2 ? shared::ElementType::kE5m2
                                 : shared::ElementType::kE2m1;
}

SourceOrder source_order(const DeviceQuantizeOperand& o, DType dtype) {
  const std::uint64_t pair = dtype == DType::kF32 ? 8 : 4;  // bytes
  const bool in_pairs = o.rows % 2 == 0 && o.token_stride % 2 == 0 && address(o.source) % pair == 0;
  if (o.row_stride == 1 && in_pairs) return SourceOrder::kRowPairs;
  return o.token_stride == 1 ? SourceOrder::kTokens : SourceOrder::kElements;
}

/// Largest magnitudes do not depend on the rest.
QuantizeConfig amax_config(const QuantizeConfig& c) {
  QuantizeConfig out;
  out.source = c.source;
  out.order = c.order;
  out.element = c.element;
  out.scale = c.scale;
  out.hadamard = c.hadamard;
  return out;
}

std::int64_t row_tiles(std::int64_t rows, ScaleLayout layout) {
  const std::int64_t all = layout == ScaleLayout::kSwizzled ? round_up(rows, kScaleAtomRows) : rows;
  return ceil_div(all, shared::kUnitRows);
}

void set_operand(shared::QuantizeOperand& k, const DeviceQuantization& call, std::size_t index) {
  const DeviceQuantizeOperand& o = call.operands[index];
  k.source = address(o.source);
  k.elements = address(o.elements);
  k.scales = address(o.scales);
  k.global_given = address(o.given_global_scales);
  k.global_out = address(o.global_scales);
  if (call.spec.format == Format::kNvfp4 && o.given_global_scales == nullptr) {
    k.amax = address(call.workspace) +
             sizeof(shared::QuantizeExpert) * static_cast<std::uint64_t>(call.experts + 2) +
             4 * static_cast<std::uint64_t>(call.experts) * index;
  }
  if (call.spec.stochastic_seed) k.seed = *call.spec.stochastic_seed + index;
  k.rows = o.rows;
  k.row_stride = o.row_stride;
  k.token_stride = o.token_stride;
  k.row_tiles = row_tiles(o.rows, call.spec.layout);
}

/// With all operands of the call.
QuantizeParams parameters(const DeviceQuantization& call, const QuantizeConfig& c) {
  QuantizeParams k = {};
  for (std::size_t i = 0; i < call.operands.size(); ++i) set_operand(k.operand[i], call, i);
  k.operands = static_cast<shared::i32>(call.operands.size());
  k.offsets = address(call.offsets);
  k.table = address(call.workspace);
  k.tokens = call.tokens;
  k.scale_cols = call.scale_cols;
  k.experts = static_cast<shared::i32>(call.experts);
  k.vec_size = shared::vec_size(c);
  k.is_packed = call.spec.element == DType::kE2m1 ? 1 : 0;
  k.is_compact = call.spec.layout == ScaleLayout::kCompact ? 1 : 0;
  k.is_ragged =
      call.spec.input_order == InputOrder::kTensorRagged && call.spec.major == Major::kK ? 1 : 0;
  k.rounds_up = call.spec.scaling_mode == ScalingMode::kRceil ? 1 : 0;
  k.padding = call.spec.scale_padding;
  if (call.spec.hadamard_seed) k.signs = shared::hadamard_signs(*call.spec.hadamard_seed);
  return k;
}

/// CTAs for as many units as any offsets make.
std::uint32_t grid_of(const QuantizeParams& k, const DeviceSpec& device) {
  const std::int64_t units = k.tokens / shared::kUnitTokens + k.experts +
                             k.scale_cols * k.vec_size / shared::kUnitTokens + 2;
  const std::int64_t groups = ceil_div(units, shared::kQuantizeWarps);
  const std::int64_t most = kCtasOfAnSm * std::max(device.sm_count, 1);
  const std::int64_t tiles = k.operand[0].row_tiles + k.operand[1].row_tiles;
  if (groups >= most || tiles >= most) return static_cast<std::uint32_t>(most);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(groups * tiles, 1, most));
}

Step step(const KernelId& kernel, const QuantizeParams& k, const DeviceSpec& device) {
  Step out{kernel, {}};
  out.image.grid = kernel.stage == Stage::kTable ? 1 : grid_of(k, device);
  out.image.block = shared::kQuantizeThreads;
  out.image.shared_bytes = static_cast<std::uint32_t>(shared_bytes(kernel));
  out.image.set_parameters(k);
  out.image.fault_at = offsetof(QuantizeParams, fault);
  return out;
}

/// Amax, where any global scale is computed, and codes of the operands in `k`.
void add_steps(std::vector<Step>& out, const QuantizeConfig& c, const QuantizeParams& k,
               const DeviceSpec& device) {
  if (k.operand[0].amax != 0 || k.operand[1].amax != 0)
    out.push_back(step({Stage::kAmax, amax_config(c)}, k, device));
  out.push_back(step({Stage::kCodes, c}, k, device));
}

}  // namespace

QuantizeConfig config(const DeviceQuantization& call, const DeviceQuantizeOperand& operand) {
  QuantizeConfig c;
  c.source = source_type(call.source_dtype);
  c.order = source_order(operand, call.source_dtype);
  c.element = element_type(call.spec.element);
  c.scale =
      call.spec.format == Format::kNvfp4 ? shared::ScaleType::kE4m3 : shared::ScaleType::kE8m0;
  c.mn_major = call.spec.major == Major::kMn;
  c.stochastic = call.spec.stochastic_seed.has_value();
  c.hadamard = call.spec.hadamard_seed.has_value();
  return c;
}

KernelSource source(const KernelId& kernel) {
  const std::string entry = entry_of(kernel.stage);
  const bool is_table = kernel.stage == Stage::kTable;
  KernelSource out;
  out.name = entry;
  out.entry = entry;
  out.text = fmt::format(
      "#include \"wgrad/quantize/quantize.cuh\"\n\nusing namespace wgrad::shared;\n\n"
      "{0}static_assert(sizeof(QuantizeParams) == {1}, \"host and device: parameters\");\n\n"
      "extern \"C\" __global__ void __launch_bounds__(kQuantizeThreads, {2})\n"
      "    {3}(const __grid_constant__ QuantizeParams params) {{\n"
      "  wgrad::device::{3}{4}(params);\n"
      "}}\n",
      is_table ? ""
               : fmt::format("constexpr QuantizeConfig kConfig{{\n{}}};\n\n",
                             core::field_text(kernel.config, "    ", 100)),
      sizeof(QuantizeParams), ctas_of(kernel), entry, is_table ? "" : "<kConfig>");
  out.options = {"--gpu-architecture=sm_90a", "--std=c++20", "--device-as-default-execution-space",
                 "--ptxas-options=-v"};
  out.arch = 90;
  out.shared_bytes = shared_bytes(kernel);
  return out;
}

std::vector<Step> steps(const DeviceQuantization& call, const DeviceSpec& device) {
  const QuantizeConfig first = config(call, call.operands.front());
  const QuantizeConfig last = config(call, call.operands.back());
  QuantizeParams k = parameters(call, first);
  std::vector<Step> out;
  out.push_back(step({Stage::kTable, {}}, k, device));
  if (first == last) {
    add_steps(out, first, k, device);
    return out;
  }
  const shared::QuantizeOperand second = k.operand[1];
  k.operands = 1;
  k.operand[1] = {};
  add_steps(out, first, k, device);
  k.operand[0] = second;
  add_steps(out, last, k, device);
  return out;
}

}  // namespace wgrad::quantize
