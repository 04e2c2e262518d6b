// Block-scaled formats from float data, quantised along tokens, scales in the storage wgrad reads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "wgrad/problem.hpp"

namespace wgrad {

/// One quantised operand. `elements` keeps the source's (rows, T) view: K-major packed for FP4;
/// FP8 in the major that was asked for.
struct QuantizedOperand {
  std::vector<std::uint8_t> elements;  ///< rows * T codes of 8 bits; FP4: rows * T / 2 bytes
  std::vector<std::uint8_t> scales;    ///< swizzled or compact, as asked; scale_bytes() of them
  std::int64_t scale_cols = 0;         ///< columns: Operands::sfa_cols, sfb_cols
  std::vector<float> global_scales;    ///< (E,), NVFP4 only
};

/// Which power of two an MX block gets as its scale.
enum class ScalingMode : std::uint8_t {
  kFloor,  ///< 2^floor(log2(amax)) over the element's largest power of two: OCP MX 6.3
  kRceil,  ///< the least one under which amax does not exceed the element's largest value
};

/// How to quantise.
struct QuantizeSpec {
  Format format = Format::kMxfp8;                  ///< kMxfp8, kMxfp4 or kNvfp4
  DType element = DType::kE4m3;                    ///< MXFP8: kE4m3 or kE5m2; else kE2m1
  Major major = Major::kK;                         ///< of the result; FP4 is K-major only
  InputOrder input_order = InputOrder::kTensor2d;  ///< of the result
  ScaleLayout layout = ScaleLayout::kSwizzled;
  std::uint8_t scale_padding = 0;                  ///< byte written where the layout pads
  ScalingMode scaling_mode = ScalingMode::kFloor;  ///< NVFP4: kFloor, without a meaning

  /// NVFP4, host memory: one factor an expert that is taken instead of being computed. Empty: none.
  std::span<const float> global_scales = {};
  /// NVFP4: elements round up or down at random, up with the probability of their place between
  /// the two, in steps of 2^-16. The same seed gives the same bits on every device.
  std::optional<std::uint64_t> stochastic_seed = std::nullopt;
  /// NVFP4: each whole block of 16 tokens of an expert is transformed first by a Hadamard matrix
  /// with orthonormal rows, after 16 signs drawn from the seed. Products of two operands that were
  /// quantised with one seed are what they were, but for rounding.
  std::optional<std::uint64_t> hadamard_seed = std::nullopt;
};

/// Quantises `source`, a (rows, tokens) matrix with element (r, t) at r * row_stride + t *
/// token_stride, in blocks along tokens that restart at each expert's begin. Tokens past the last
/// offset are never read and become zero elements.
///
/// MX (e8m0) scales follow `scaling_mode`. Under kFloor, 2^(floor(log2(amax)) - the element's
/// largest exponent), the top of a block saturates where amax lies above the element's largest
/// value times that (by up to 1/8 in e4m3 and e5m2, 1/4 in e2m1); under kRceil, 2^ceil(log2(amax /
/// the element's largest value)), nothing saturates, and some blocks lose their smallest elements'
/// last bit. NVFP4: global_scales[e] = amax of the expert / (448 * 6), 1 where that amax is 0, or
/// what was given; block scales are e4m3(block amax / 6 / global). Elements round to nearest even,
/// or at random where a seed is given, and saturate. A block of zeros gets scale code 0; a block
/// with a NaN or an infinity gets the NaN scale code, so that the fault shows in what the block
/// contributes to; NaN and infinities do not count towards an expert's amax.
///
/// Throws ValueError for offsets that decrease or exceed tokens, for negative extents and strides,
/// for a source too short for its strides, for an enumeration's value that has no name, for an
/// element that the format has not, for kRceil with NVFP4, for an option of NVFP4 with another
/// format, for global scales that are not one an expert, and in FP4 for kMn, an odd `tokens`, an
/// expert that begins at an odd token, and in ragged order one of an odd count.
QuantizedOperand quantize_along_tokens(std::span<const float> source, std::int64_t rows,
                                       std::int64_t tokens, std::int64_t row_stride,
                                       std::int64_t token_stride,
                                       std::span<const std::int32_t> offsets,
                                       const QuantizeSpec& spec);

}  // namespace wgrad
