// The span of an operand's scale bytes, many at a time.
#pragma once

#include <cstdint>

#include "cpu/expert_operand.hpp"

namespace wgrad::cpu {

struct CodeSpan {
  std::uint8_t low = 255;
  std::uint8_t high = 0;
};

/// The lowest and the highest code of `rows` rows from `row`, blocks 0 to `blocks` - 1; both sides
/// of it reversed where there are none. Bytes that pad a swizzled tensor are read but do not count.
CodeSpan code_span(const ExpertScales& scales, std::int64_t row, std::int64_t rows,
                   std::int64_t blocks) noexcept;

}  // namespace wgrad::cpu
