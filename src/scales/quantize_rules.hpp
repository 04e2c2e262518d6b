// What quantisation refuses, each limit with its sentence once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "wgrad/quantize.hpp"

namespace wgrad::scales {

/// A (rows, tokens) matrix of floats, wherever it lies.
struct SourceExtents {
  std::int64_t rows = 0;
  std::int64_t tokens = 0;
  std::int64_t row_stride = 0;
  std::int64_t token_stride = 0;
};

/// Throws ValueError "wgrad: <field> is <got>; it must be <need>".
[[noreturn]] void refuse_quantize(std::string_view field, std::string_view got,
                                  std::string_view need);

/// Throws ValueError for a format that is none, or options that it does not have.
void check_quantize_spec(const QuantizeSpec& spec);

/// Throws ValueError for negative extents and strides, and for more elements than a result holds.
void check_source(const SourceExtents& source);
/// Elements from the first to past the last; saturating. Of no rows or tokens: 0.
std::int64_t source_span(const SourceExtents& source);

/// Packed FP4 holds two tokens a byte. Throws ValueError for an odd number of them.
void check_packed_tokens(std::int64_t tokens, const QuantizeSpec& spec);
/// Throws ValueError where two experts of packed FP4 share a byte.
void check_packed_experts(std::span<const std::int32_t> offsets, const QuantizeSpec& spec);

}  // namespace wgrad::scales
