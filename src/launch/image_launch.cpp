#include "launch/image_launch.hpp"

#include "launch/driver/driver.hpp"

namespace wgrad::launch {

void start_image(const Runtime& runtime, const LoadedKernel& kernel, kernels::LaunchImage& image,
                 CuStream stream) {
  CuLaunchAttribute attributes[2];
  attributes[0].id = kCuProgrammaticStreamSerialization;
  attributes[0].value.allowed = image.overlaps && runtime.overlaps_launches() ? 1 : 0;
  attributes[1].id = kCuClusterDimension;
  attributes[1].value.cluster[0] = image.cluster;
  attributes[1].value.cluster[1] = attributes[1].value.cluster[2] = 1;
  CuLaunchConfig launch;
  launch.grid[0] = image.grid;
  launch.block[0] = image.block;
  launch.shared_bytes = image.shared_bytes;
  launch.stream = stream;
  launch.attributes = attributes;
  launch.attribute_count = image.cluster > 1 ? 2 : 1;
  void* arguments[] = {image.parameters.data()};
  const DriverApi& api = runtime.api();
  const CuResult result = api.launch_kernel(&launch, kernel.function(), arguments, nullptr);
  if (result != kCuSuccess)
    check(api, result, "the launch failed, or an earlier one on this device");
}

}  // namespace wgrad::launch
