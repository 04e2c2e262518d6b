// CUDA devices of a build without a CUDA backend: none.
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"

namespace wgrad {

DeviceSpec cuda_device(int) {
  throw RuntimeError("wgrad: this build has no CUDA backend");
}

int cuda_device_count() noexcept {
  return 0;
}

}  // namespace wgrad
