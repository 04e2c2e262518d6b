#include "quantize/rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>

#include "scales/block_quantizer.hpp"
#include "scales/quantize_rules.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::quantize {
namespace {

using scales::refuse_quantize;

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

void check_range(std::string_view field, std::int64_t got, std::int64_t least, std::int64_t most) {
  if (got >= least && got <= most) return;
  refuse_quantize(field, fmt::format("{}", got), fmt::format("from {} to {}", least, most));
}

void check_pointer(std::string_view field, const void* pointer, std::uintptr_t alignment) {
  if (pointer == nullptr) refuse_quantize(field, "null", "an address in device memory");
  if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0) {
    refuse_quantize(field, fmt::format("at address {}", fmt::ptr(pointer)),
                    fmt::format("aligned to {} bytes", alignment));
  }
}

void check_shared(const DeviceQuantization& call) {
  check_range("tokens", call.tokens, 0, kMost);
  check_range("experts", call.experts, 0, kMost);
  scales::check_packed_tokens(call.tokens, call.spec);
  if (call.source_dtype != DType::kBf16 && call.source_dtype != DType::kF16 &&
      call.source_dtype != DType::kF32) {
    refuse_quantize("source_dtype", name(call.source_dtype), "bfloat16, float16 or float32");
  }
  if (!call.spec.global_scales.empty())
    refuse_quantize("global_scales", "host memory", "given_global_scales of each operand");
  if (call.experts > 0) check_pointer("offsets", call.offsets, sizeof(std::int32_t));
  check_pointer("workspace", call.workspace, 16);
  if (call.operands.empty() || call.operands.size() > 2)
    refuse_quantize("operands", fmt::format("{} of them", call.operands.size()), "one or two");
}

void check_scale_cols(const DeviceQuantization& call) {
  const int vec_size = scales::block_format(call.spec).vec_size;
  const bool swizzled = call.spec.layout == ScaleLayout::kSwizzled;
  const std::int64_t least =
      device_scale_cols(call.tokens, call.experts, vec_size, call.spec.layout);
  if (call.scale_cols >= least && call.scale_cols <= kMost &&
      (!swizzled || call.scale_cols % kScaleAtomCols == 0))
    return;
  refuse_quantize("scale_cols", fmt::format("{}", call.scale_cols),
                  fmt::format("at least {} for these tokens and experts{}", least,
                              swizzled ? ", and a multiple of 4" : ""));
}

void check_operand(const DeviceQuantization& call, const DeviceQuantizeOperand& o) {
  scales::check_source({o.rows, call.tokens, o.row_stride, o.token_stride});
  check_range("rows", o.rows, 0, kMost);
  const bool nvfp4 = call.spec.format == Format::kNvfp4;
  if (nvfp4) {
    if (call.experts > 0) check_pointer("global_scales", o.global_scales, sizeof(float));
  } else if (o.global_scales != nullptr || o.given_global_scales != nullptr) {
    refuse_quantize("global_scales", "given", "null for MX formats: NVFP4 alone has them");
  }
  const bool swizzled = call.spec.layout == ScaleLayout::kSwizzled;
  if (o.rows > 0 && call.scale_cols > 0) check_pointer("scales", o.scales, swizzled ? 16 : 1);
  if (o.rows == 0 || call.tokens == 0) return;
  check_pointer("source", o.source, static_cast<std::uintptr_t>(bits(call.source_dtype) / 8));
  check_pointer("elements", o.elements, 1);
  constexpr std::int64_t kMostSpan = std::int64_t{1} << 60U;
  const std::int64_t span =
      scales::source_span({o.rows, call.tokens, o.row_stride, o.token_stride});
  if (span > kMostSpan) {
    refuse_quantize("source", fmt::format("{} elements long for its extents and strides", span),
                    fmt::format("at most {}", kMostSpan));
  }
}

}  // namespace

void check_call(const DeviceQuantization& call) {
  scales::check_quantize_spec(call.spec);
  check_shared(call);
  check_scale_cols(call);
  for (const DeviceQuantizeOperand& operand : call.operands) check_operand(call, operand);
}

void check_device(const DeviceSpec& device) {
  if (device.arch == 90) return;
  throw RuntimeError(fmt::format(
      "wgrad: {} has compute capability {}.{}; quantisation on a device has kernels for "
      "9.0 (Hopper) only: move the tensor with .cpu()",
      device.name, device.arch / 10, device.arch % 10));
}

}  // namespace wgrad::quantize

namespace wgrad {

std::int64_t device_scale_cols(std::int64_t tokens, std::int64_t experts, int vec_size,
                               ScaleLayout layout) noexcept {
  const std::int64_t columns = layout == ScaleLayout::kSwizzled ? kScaleAtomCols : 1;
  const std::int64_t covered = columns * vec_size;  // tokens of the least that an expert takes up
  const std::int64_t begun = std::min(experts, tokens);
  return (tokens + begun * (covered - 1)) / covered * columns;
}

}  // namespace wgrad
