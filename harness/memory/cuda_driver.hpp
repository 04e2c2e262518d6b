// The CUDA driver as the harness calls it: no toolkit is needed to build, no driver to load.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wgrad::harness {

/// CUdeviceptr and CUmemGenericAllocationHandle of cuda.h.
using CudaAddress = unsigned long long;
using CudaAllocation = unsigned long long;

/// CUmemLocation.
struct CudaLocation {
  int type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  int id = 0;    // the device's ordinal
};

/// CUmemAllocationProp.
struct CudaAllocationProperties {
  int type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  int handle_types = 0;
  CudaLocation location;
  void* windows_handle = nullptr;
  unsigned char flags[8] = {};
};

/// CUmemAccessDesc.
struct CudaAccess {
  CudaLocation location;
  int flags = 0;
};
inline constexpr int kCudaReadOnly = 1;   // CU_MEM_ACCESS_FLAGS_PROT_READ
inline constexpr int kCudaReadWrite = 3;  // CU_MEM_ACCESS_FLAGS_PROT_READWRITE

/// Functions of libcuda.so.1, by the names that cuda.h gives their latest versions.
struct CudaDriver {
  /// Throws RuntimeError without a driver, or where one lacks a function.
  CudaDriver();

  int (*init)(unsigned) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*push)(void*) = nullptr;
  int (*pop)(void**) = nullptr;
  int (*granularity)(std::size_t*, const CudaAllocationProperties*, int) = nullptr;
  int (*reserve)(CudaAddress*, std::size_t, std::size_t, CudaAddress, unsigned long long) = nullptr;
  int (*unreserve)(CudaAddress, std::size_t) = nullptr;
  int (*create)(CudaAllocation*, std::size_t, const CudaAllocationProperties*,
                unsigned long long) = nullptr;
  int (*destroy)(CudaAllocation) = nullptr;
  int (*map)(CudaAddress, std::size_t, std::size_t, CudaAllocation, unsigned long long) = nullptr;
  int (*unmap)(CudaAddress, std::size_t) = nullptr;
  int (*set_access)(CudaAddress, std::size_t, const CudaAccess*, std::size_t) = nullptr;
  int (*to_device)(CudaAddress, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, CudaAddress, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*create_event)(void**, unsigned) = nullptr;
  int (*destroy_event)(void*) = nullptr;
  int (*record_event)(void*, void*) = nullptr;
  int (*elapsed)(float*, void*, void*) = nullptr;
};

/// Throws RuntimeError that names `what` where `result` is an error.
void check_cuda(int result, const char* what);

}  // namespace wgrad::harness
