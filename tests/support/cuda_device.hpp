// Memory of a CUDA device with unmapped pages around every allocation.
#pragma once

#include <memory>

#include "support/device.hpp"

namespace wgrad::test {

/// Device memory of `ordinal`, from the driver's virtual memory calls: each allocation ends (to
/// within its alignment) at an address that is not mapped. Null where this build saw no cuda.h or
/// the machine has no such device.
std::shared_ptr<Device> cuda_memory(int ordinal);

}  // namespace wgrad::test
