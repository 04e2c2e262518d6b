// One launch of a complete image by the driver.
#pragma once

#include "kernels/launch_image.hpp"
#include "launch/driver/loaded_kernel.hpp"
#include "launch/driver/runtime.hpp"

namespace wgrad::launch {

/// `kernel` is ready on the device of the current context; the image has its maps and addresses.
/// Throws RuntimeError where the driver refuses it.
void start_image(const Runtime& runtime, const LoadedKernel& kernel, kernels::LaunchImage& image,
                 CuStream stream);

}  // namespace wgrad::launch
