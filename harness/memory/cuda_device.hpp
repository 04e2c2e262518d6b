// Memory of a CUDA device with unmapped pages around every allocation.
#pragma once

#include <memory>

#include "harness/memory/device.hpp"

namespace wgrad::harness {

/// Device memory of `ordinal`, from the driver's virtual memory calls: each allocation ends (to
/// within its alignment) at an address that is not mapped. Any thread may call. Throws RuntimeError
/// without a driver, and where there is no such device.
std::shared_ptr<Device> cuda_memory(int ordinal);

}  // namespace wgrad::harness
