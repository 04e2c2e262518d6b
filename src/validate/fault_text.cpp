#include "validate/fault_text.hpp"

namespace wgrad::validate {

const char* fault_text(shared::FaultKind kind) noexcept {
  using shared::FaultKind;
  switch (kind) {
    case FaultKind::kOffsetDecreases:
      return "offsets decrease";
    case FaultKind::kOffsetNegative:
      return "offset is negative";
    case FaultKind::kOffsetBeyond:
      return "offset exceeds tokens";
    case FaultKind::kPointerNull:
      return "null pointer in wgrad_ptrs";
    case FaultKind::kPointerAlignment:
      return "misaligned pointer in wgrad_ptrs";
    case FaultKind::kBeginOdd:
      return "packed FP4 expert begins at an odd token";
    case FaultKind::kScaleColumns:
      return "scale factors end before the expert";
    default:
      return "unknown fault";
  }
}

}  // namespace wgrad::validate
