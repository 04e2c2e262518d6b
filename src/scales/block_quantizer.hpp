// Quantises single blocks: `vec_size` consecutive tokens of one row under one scale factor.
#pragma once

#include <cstdint>
#include <span>

#include "wgrad/dtype.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad::scales {

/// How the blocks of one format are quantised; independent of where codes are stored.
struct BlockFormat {
  DType element = DType::kE4m3;  ///< kE4m3, kE5m2 or kE2m1
  DType scale = DType::kE8m0;    ///< kE8m0 or kE4m3
  int vec_size = 32;
  ScalingMode mode = ScalingMode::kFloor;  ///< of e8m0 scales
};

BlockFormat block_format(const QuantizeSpec& spec);

/// Largest finite |x|, and whether all of `values` are finite.
struct BlockRange {
  float amax = 0;
  bool finite = true;
};
BlockRange block_range(std::span<const float> values);

/// Scale code of a block and the factor that takes its values into the element format's range.
/// e8m0: as ScalingMode says.
/// e4m3: amax / 6 / global, to nearest. A block with a NaN or an infinity gets the NaN code and
/// zero elements; an all-zero block gets code 0.
/// A value is multiplied by `lift`, which is 1 or under a global scale below 2^-60, with which
/// floats would underflow, 2^64, and by `inverse`, in float. Of zero elements the inverse is 0.
struct BlockScale {
  std::uint8_t code = 0;
  float lift = 1;
  float inverse = 0;

  float scaled(float value) const { return value * lift * inverse; }
};
BlockScale block_scale(const BlockFormat& format, BlockRange range, float global_scale);

/// codes[i] = the element nearest to scale.scaled(values[i]), saturating; one code a byte.
void encode_block(DType element, std::span<const float> values, const BlockScale& scale,
                  std::uint8_t* codes);

/// NVFP4's factor of one expert: amax / (448 * 6); 1 where amax is 0, so that nothing divides by 0.
float nvfp4_global_scale(float amax);

}  // namespace wgrad::scales
