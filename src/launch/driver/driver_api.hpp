// The few functions of the CUDA driver that wgrad calls, declared here so that building needs no
// CUDA toolkit. tests/launch/driver_api_test.cpp compares them with cuda.h where one is installed.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wgrad/shared/params.hpp"

namespace wgrad::launch {

using CuResult = int;
using CuDevice = int;
using CuAddress = unsigned long long;
struct CuContextObject;
struct CuStreamObject;
struct CuLibraryObject;
struct CuKernelObject;
struct CuFunctionObject;
using CuContext = CuContextObject*;
using CuStream = CuStreamObject*;
using CuLibrary = CuLibraryObject*;
using CuKernel = CuKernelObject*;
using CuFunction = CuFunctionObject*;

constexpr CuResult kCuSuccess = 0;
constexpr CuResult kCuErrorNoDevice = 100;

// CUdevice_attribute
constexpr int kCuMultiprocessorCount = 16;
constexpr int kCuL2CacheSize = 38;
constexpr int kCuComputeCapabilityMajor = 75;
constexpr int kCuComputeCapabilityMinor = 76;
constexpr int kCuMaxSharedMemoryPerBlockOptin = 97;
// CUpointer_attribute, CUfunction_attribute, CUlaunchAttributeID
constexpr int kCuPointerDeviceOrdinal = 9;
constexpr int kCuMaxDynamicSharedSizeBytes = 8;
constexpr int kCuClusterDimension = 4;
constexpr int kCuProgrammaticStreamSerialization = 6;
// CUtensorMapDataType, -Interleave, -Swizzle, -L2promotion, -FloatOOBfill
constexpr int kCuUint8 = 0;
constexpr int kCuFloat16 = 6;
constexpr int kCuFloat32 = 7;
constexpr int kCuBfloat16 = 9;
constexpr int kCuInterleaveNone = 0;
constexpr int kCuSwizzleNone = 0;
constexpr int kCuSwizzle128B = 3;
constexpr int kCuL2Promotion256B = 3;
constexpr int kCuFillNone = 0;
// cuMemHostAlloc
constexpr unsigned kCuHostPortable = 1;
constexpr unsigned kCuHostDeviceMap = 2;
// CUstreamCaptureStatus, CUstreamCaptureMode
constexpr int kCuCaptureNone = 0;
constexpr int kCuCaptureModeRelaxed = 2;

struct CuLaunchAttribute {
  int id = 0;
  char pad[4] = {};
  union {
    char bytes[64] = {};
    unsigned cluster[3];
    int allowed;
  } value;
};

struct CuLaunchConfig {
  unsigned grid[3] = {1, 1, 1};
  unsigned block[3] = {1, 1, 1};
  unsigned shared_bytes = 0;
  CuStream stream = nullptr;
  CuLaunchAttribute* attributes = nullptr;
  unsigned attribute_count = 0;
};

struct DriverApi {
  CuResult (*init)(unsigned) = nullptr;
  CuResult (*error_name)(CuResult, const char**) = nullptr;
  CuResult (*error_string)(CuResult, const char**) = nullptr;
  CuResult (*driver_version)(int*) = nullptr;
  CuResult (*device_count)(int*) = nullptr;
  CuResult (*device_name)(char*, int, CuDevice) = nullptr;
  CuResult (*device_attribute)(int*, int, CuDevice) = nullptr;
  CuResult (*primary_context_retain)(CuContext*, CuDevice) = nullptr;
  CuResult (*context_get_current)(CuContext*) = nullptr;
  CuResult (*context_push)(CuContext) = nullptr;
  CuResult (*context_pop)(CuContext*) = nullptr;
  CuResult (*context_get_device)(CuDevice*) = nullptr;
  CuResult (*stream_get_context)(CuStream, CuContext*) = nullptr;
  CuResult (*stream_is_capturing)(CuStream, int*) = nullptr;
  CuResult (*stream_get_id)(CuStream, unsigned long long*) = nullptr;
  CuResult (*stream_synchronize)(CuStream) = nullptr;
  CuResult (*exchange_capture_mode)(int*) = nullptr;
  CuResult (*copy_to_host_async)(void*, CuAddress, std::size_t, CuStream) = nullptr;
  CuResult (*host_alloc)(void**, std::size_t, unsigned) = nullptr;
  CuResult (*host_device_pointer)(CuAddress*, void*, unsigned) = nullptr;
  CuResult (*pointer_attribute)(void*, int, CuAddress) = nullptr;
  CuResult (*library_load_data)(CuLibrary*, const void*, int*, void**, unsigned, int*, void**,
                                unsigned) = nullptr;
  CuResult (*library_get_kernel)(CuKernel*, CuLibrary, const char*) = nullptr;
  CuResult (*library_get_global)(CuAddress*, std::size_t*, CuLibrary, const char*) = nullptr;
  CuResult (*kernel_set_attribute)(int, int, CuKernel, CuDevice) = nullptr;
  CuResult (*kernel_get_function)(CuFunction*, CuKernel) = nullptr;
  CuResult (*tensor_map_encode)(shared::TensorMap*, int type, std::uint32_t rank, void* address,
                                const std::uint64_t* dims, const std::uint64_t* strides,
                                const std::uint32_t* box, const std::uint32_t* element_strides,
                                int interleave, int swizzle, int l2_promotion, int fill) = nullptr;
  CuResult (*launch_kernel)(const CuLaunchConfig*, CuFunction, void** parameters,
                            void** extra) = nullptr;
};

}  // namespace wgrad::launch
