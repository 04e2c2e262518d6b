// The words for a fault in device data that a kernel met.
#pragma once

#include "wgrad/shared/params.hpp"

namespace wgrad::validate {

/// DeviceFault::what of a record's kind; "unknown fault" for a kind that no kernel writes.
const char* fault_text(shared::FaultKind kind) noexcept;

}  // namespace wgrad::validate
