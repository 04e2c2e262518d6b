#include "scales/quantize_rules.hpp"

#include <fmt/format.h>

#include "core/enumerators.hpp"
#include "core/saturating.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::scales {
namespace {

/// Of a result: more than memory holds, and its scale factors' bytes still fit 63 bits.
constexpr std::int64_t kMaxElements = std::int64_t{1} << 50U;

void check_enumerators(const QuantizeSpec& spec) {
  const auto refuse_number = [](const char* field, int got, int last) {
    refuse_quantize(field, fmt::format("{}", got),
                    fmt::format("an enumerator, from 0 to {}", last));
  };
  core::check_enumerator("format", spec.format, refuse_number);
  core::check_enumerator("element", spec.element, refuse_number);
  core::check_enumerator("major", spec.major, refuse_number);
  core::check_enumerator("input_order", spec.input_order, refuse_number);
  core::check_enumerator("layout", spec.layout, refuse_number);
  core::check_enumerator("scaling_mode", spec.scaling_mode, refuse_number);
}

/// What NVFP4 alone has.
void check_options(const QuantizeSpec& spec) {
  if (spec.format == Format::kNvfp4) return;
  constexpr const char* kNeed = "left out for MX formats: NVFP4 alone has it";
  if (spec.stochastic_seed) refuse_quantize("stochastic_seed", "given", kNeed);
  if (spec.hadamard_seed) refuse_quantize("hadamard_seed", "given", kNeed);
  if (!spec.global_scales.empty()) refuse_quantize("global_scales", "given", kNeed);
}

}  // namespace

void refuse_quantize(std::string_view field, std::string_view got, std::string_view need) {
  throw ValueError(fmt::format("wgrad: {} is {}; it must be {}", field, got, need));
}

void check_quantize_spec(const QuantizeSpec& spec) {
  check_enumerators(spec);
  const bool fp8 = spec.element == DType::kE4m3 || spec.element == DType::kE5m2;
  if (spec.format == Format::kSixteenBit)
    refuse_quantize("format", "16-bit", "MXFP8, MXFP4 or NVFP4");
  if (spec.format == Format::kFp8Rowwise || spec.format == Format::kFp8Blocks)
    refuse_quantize("format", spec.format == Format::kFp8Rowwise ? "fp8-rowwise" : "fp8-1x128",
                    "MXFP8, MXFP4 or NVFP4: those that quantise are written for these");
  if (spec.format == Format::kMxfp8 ? !fp8 : spec.element != DType::kE2m1) {
    refuse_quantize(
        "element", name(spec.element),
        spec.format == Format::kMxfp8 ? "float8_e4m3fn or float8_e5m2" : "float4_e2m1fn_x2");
  }
  if (spec.format == Format::kNvfp4 && spec.scaling_mode != ScalingMode::kFloor) {
    refuse_quantize("scaling_mode", "rceil",
                    "left out for NVFP4, whose scales are no powers of two");
  }
  if (spec.element == DType::kE2m1 && spec.major != Major::kK) {
    refuse_quantize("major", "MN-major", "K-major (tokens contiguous) for packed FP4");
  }
  check_options(spec);
}

void check_source(const SourceExtents& s) {
  if (s.rows < 0) refuse_quantize("rows", fmt::format("{}", s.rows), "0 or more");
  if (s.tokens < 0) refuse_quantize("tokens", fmt::format("{}", s.tokens), "0 or more");
  if (s.rows == 0 || s.tokens == 0) return;
  if (s.row_stride < 0) refuse_quantize("row_stride", fmt::format("{}", s.row_stride), "0 or more");
  if (s.token_stride < 0)
    refuse_quantize("token_stride", fmt::format("{}", s.token_stride), "0 or more");
  if (s.rows > kMaxElements / s.tokens) {
    refuse_quantize("rows", fmt::format("{}", s.rows),
                    fmt::format("at most {} for {} tokens", kMaxElements / s.tokens, s.tokens));
  }
}

std::int64_t source_span(const SourceExtents& s) {
  if (s.rows == 0 || s.tokens == 0) return 0;
  const std::int64_t last =
      core::saturating_add(core::saturating_multiply(s.rows - 1, s.row_stride),
                           core::saturating_multiply(s.tokens - 1, s.token_stride));
  return core::saturating_add(last, 1);
}

void check_packed_tokens(std::int64_t tokens, const QuantizeSpec& spec) {
  if (spec.element == DType::kE2m1 && tokens % 2 != 0)
    refuse_quantize("tokens", fmt::format("{}", tokens), "even for packed FP4");
}

void check_packed_experts(std::span<const std::int32_t> offsets, const QuantizeSpec& spec) {
  if (spec.element != DType::kE2m1) return;
  const bool ragged = spec.input_order == InputOrder::kTensorRagged;
  std::int64_t begin = 0;
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    const std::int64_t count = offsets[e] - begin;
    if (count > 0 && (begin % 2 != 0 || (ragged && count % 2 != 0))) {
      refuse_quantize(fmt::format("expert {}", e),
                      fmt::format("tokens {} to {}", begin, offsets[e]),
                      ragged ? "a range of even length that begins at an even token, for packed FP4"
                             : "a range that begins at an even token, for packed FP4");
    }
    begin = offsets[e];
  }
}

}  // namespace wgrad::scales
