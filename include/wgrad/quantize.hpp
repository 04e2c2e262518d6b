// Block-scaled formats from float data, quantised along tokens, scales in the storage wgrad reads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "wgrad/problem.hpp"

namespace wgrad {

/// One quantised operand. `elements` keeps the source's (rows, T) view: K-major packed for FP4;
/// FP8 in the major that was asked for.
struct QuantizedOperand {
  std::vector<std::uint8_t> elements;
  std::vector<std::uint8_t> scales;  ///< swizzled or compact, as asked
  std::int64_t scale_cols = 0;
  std::vector<float> global_scales;  ///< (E,), NVFP4 only
};

/// How to quantise.
struct QuantizeSpec {
  Format format = Format::kMxfp8;  ///< kMxfp8, kMxfp4 or kNvfp4
  DType element = DType::kE4m3;    ///< MXFP8: kE4m3 or kE5m2; else kE2m1
  Major major = Major::kK;         ///< of the result; FP4 is K-major only
  ScaleLayout layout = ScaleLayout::kSwizzled;
  std::uint8_t scale_padding = 0;  ///< byte written where the layout pads
};

/// Quantises `source`, a (rows, tokens) matrix with element (r, t) at r * row_stride + t *
/// token_stride, in blocks along tokens that restart at each expert's begin. Rows past the last
/// offset become zero elements. Throws ValueError for offsets that decrease or exceed tokens, and
/// for FP4 experts that begin at an odd token.
QuantizedOperand quantize_along_tokens(std::span<const float> source, std::int64_t rows,
                                       std::int64_t tokens, std::int64_t row_stride,
                                       std::int64_t token_stride,
                                       std::span<const std::int32_t> offsets,
                                       const QuantizeSpec& spec);

}  // namespace wgrad
