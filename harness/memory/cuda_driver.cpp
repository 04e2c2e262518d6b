#include "harness/memory/cuda_driver.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "wgrad/errors.hpp"

namespace wgrad::harness {

CudaDriver::CudaDriver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr)
    throw RuntimeError("wgrad: no CUDA driver (libcuda.so.1) on this machine");
  const auto find = [&](auto& function, const char* name) {
    void* symbol = dlsym(library, name);
    if (symbol == nullptr) throw RuntimeError(fmt::format("wgrad: the CUDA driver lacks {}", name));
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
  };
  find(init, "cuInit");
  find(device, "cuDeviceGet");
  find(retain, "cuDevicePrimaryCtxRetain");
  find(push, "cuCtxPushCurrent_v2");
  find(pop, "cuCtxPopCurrent_v2");
  find(granularity, "cuMemGetAllocationGranularity");
  find(reserve, "cuMemAddressReserve");
  find(unreserve, "cuMemAddressFree");
  find(create, "cuMemCreate");
  find(destroy, "cuMemRelease");
  find(map, "cuMemMap");
  find(unmap, "cuMemUnmap");
  find(set_access, "cuMemSetAccess");
  find(to_device, "cuMemcpyHtoD_v2");
  find(to_host, "cuMemcpyDtoH_v2");
  find(synchronize, "cuCtxSynchronize");
  find(create_event, "cuEventCreate");
  find(destroy_event, "cuEventDestroy_v2");
  find(record_event, "cuEventRecord");
  find(elapsed, "cuEventElapsedTime");
}

void check_cuda(int result, const char* what) {
  if (result != 0) throw RuntimeError(fmt::format("wgrad: {} failed: CUDA error {}", what, result));
}

}  // namespace wgrad::harness
