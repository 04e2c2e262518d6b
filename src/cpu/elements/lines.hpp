// Loops over one contiguous line of elements: decoding to float32, storing from an accumulator.
// Compiled once per instruction set and chosen when the library first runs.
#pragma once

#include <cstdint>

#include "wgrad/dtype.hpp"

namespace wgrad::cpu {

/// `out[i] = in[i]`, from 16-bit elements.
using WidenLine = void (*)(const void* in, float* out, std::int64_t n);
/// `out[i] = in[i] * scale[i]`: neighbours along the line belong to different rows.
using ScaleAcross = void (*)(const std::uint8_t* in, const float* scale, float* out,
                             std::int64_t n);
/// `out[i] = in[i] * scale[i / vec]`: the line runs along tokens. FP4 reads two elements a byte.
using ScaleAlong = void (*)(const std::uint8_t* in, const float* scale, int vec, float* out,
                            std::int64_t n);
/// `out[i] = acc[i]` or `+=`, rounded once to the output's type. Where there is a factor (global
/// scales), it is applied first, and its product is a float32.
using StoreLine = void (*)(const float* acc, double factor, void* out, std::int64_t n);

/// How a factor is applied: as a float32 where it is a normal one, else in double, where a zero sum
/// stays zero whatever the factor.
enum class Scaling : std::uint8_t { kNone, kFloat, kDouble };
Scaling scaling_for(double factor) noexcept;

WidenLine widen_line(DType element);
ScaleAcross scale_across(DType element);
ScaleAlong scale_along(DType element);
StoreLine store_line(DType output, bool accumulate, Scaling scaling);

}  // namespace wgrad::cpu
