// Our declarations of the driver against cuda.h, where a toolkit is installed; and how opening one
// fails.
#include "launch/driver/driver_api.hpp"

#include <gtest/gtest.h>

#include <string>

#include "launch/driver/driver.hpp"
#include "support/driver/cuda_calls.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::launch {
namespace {

std::string message_of(const std::string& library) {
  try {
    open_driver(library);
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "";
}

TEST(OpenDriver, SaysWhatIsMissingAndWhatToInstall) {
  const std::string message = message_of("libcuda-of-nobody.so.1");
  EXPECT_EQ(message.find("wgrad: no NVIDIA driver was found"), 0U) << message;
  EXPECT_NE(message.find("install one of CUDA 12.0 or later"), std::string::npos) << message;
  EXPECT_NE(message.find("libcuda-of-nobody.so.1"), std::string::npos) << message;
}

TEST(OpenDriver, RefusesALibraryThatIsNoDriver) {
  EXPECT_EQ(message_of("libc.so.6"),
            "wgrad: libc.so.6 lacks cuInit; install an NVIDIA driver of CUDA 12.0 or later");
}

}  // namespace
}  // namespace wgrad::launch

#if __has_include(<cuda.h>)
#include <cuda.h>

#include <cstddef>
#include <type_traits>

namespace wgrad::launch {
namespace {

/// Same number of parameters, same sizes, pointers where pointers are.
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<sizeof(R1) == sizeof(R2) &&
                         ((sizeof(A1) == sizeof(A2) &&
                           std::is_pointer_v<A1> == std::is_pointer_v<A2>)&&...)> {
};

// NOLINTBEGIN(bugprone-macro-parentheses): a member is named, not computed
#define SAME_CALL(ours, theirs) \
  static_assert(SameCall<decltype(DriverApi::ours), decltype(&theirs)>::value)
SAME_CALL(init, cuInit);
SAME_CALL(error_name, cuGetErrorName);
SAME_CALL(error_string, cuGetErrorString);
SAME_CALL(driver_version, cuDriverGetVersion);
SAME_CALL(device_count, cuDeviceGetCount);
SAME_CALL(device_name, cuDeviceGetName);
SAME_CALL(device_attribute, cuDeviceGetAttribute);
SAME_CALL(primary_context_retain, cuDevicePrimaryCtxRetain);
SAME_CALL(context_get_current, cuCtxGetCurrent);
SAME_CALL(context_push, cuCtxPushCurrent);
SAME_CALL(context_pop, cuCtxPopCurrent);
SAME_CALL(context_get_device, cuCtxGetDevice);
SAME_CALL(stream_get_context, cuStreamGetCtx);
SAME_CALL(stream_is_capturing, cuStreamIsCapturing);
SAME_CALL(stream_get_id, cuStreamGetId);
SAME_CALL(stream_synchronize, cuStreamSynchronize);
SAME_CALL(exchange_capture_mode, cuThreadExchangeStreamCaptureMode);
SAME_CALL(copy_to_host_async, cuMemcpyDtoHAsync);
SAME_CALL(host_alloc, cuMemHostAlloc);
SAME_CALL(host_device_pointer, cuMemHostGetDevicePointer);
SAME_CALL(pointer_attribute, cuPointerGetAttribute);
SAME_CALL(library_load_data, cuLibraryLoadData);
SAME_CALL(library_get_kernel, cuLibraryGetKernel);
SAME_CALL(library_get_global, cuLibraryGetGlobal);
SAME_CALL(kernel_set_attribute, cuKernelSetAttribute);
SAME_CALL(kernel_get_function, cuKernelGetFunction);
SAME_CALL(tensor_map_encode, cuTensorMapEncodeTiled);
SAME_CALL(launch_kernel, cuLaunchKernelEx);
#undef SAME_CALL

#define SAME_CALL(ours, theirs) \
  static_assert(SameCall<decltype(test::CudaCalls::ours), decltype(&theirs)>::value)
SAME_CALL(set_current, cuCtxSetCurrent);
SAME_CALL(stream_create, cuStreamCreate);
SAME_CALL(stream_destroy, cuStreamDestroy);
SAME_CALL(stream_begin_capture, cuStreamBeginCapture);
SAME_CALL(stream_end_capture, cuStreamEndCapture);
SAME_CALL(graph_instantiate, cuGraphInstantiateWithFlags);
SAME_CALL(graph_launch, cuGraphLaunch);
SAME_CALL(graph_destroy, cuGraphDestroy);
SAME_CALL(graph_executable_destroy, cuGraphExecDestroy);
SAME_CALL(event_create, cuEventCreate);
SAME_CALL(event_destroy, cuEventDestroy);
SAME_CALL(event_record, cuEventRecord);
SAME_CALL(event_synchronize, cuEventSynchronize);
SAME_CALL(event_elapsed, cuEventElapsedTime);
#undef SAME_CALL
// NOLINTEND(bugprone-macro-parentheses)

static_assert(kCuSuccess == CUDA_SUCCESS && kCuErrorNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kCuMultiprocessorCount == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
static_assert(kCuL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(kCuComputeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kCuComputeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kCuMaxSharedMemoryPerBlockOptin ==
              CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
static_assert(kCuPointerDeviceOrdinal == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
static_assert(kCuMaxDynamicSharedSizeBytes == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
static_assert(kCuClusterDimension == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
static_assert(kCuFloat16 == CU_TENSOR_MAP_DATA_TYPE_FLOAT16);
static_assert(kCuFloat32 == CU_TENSOR_MAP_DATA_TYPE_FLOAT32);
static_assert(kCuBfloat16 == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
static_assert(kCuInterleaveNone == CU_TENSOR_MAP_INTERLEAVE_NONE);
static_assert(kCuSwizzle128B == CU_TENSOR_MAP_SWIZZLE_128B);
static_assert(kCuL2Promotion256B == CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
static_assert(kCuFillNone == CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
static_assert(kCuHostPortable == CU_MEMHOSTALLOC_PORTABLE);
static_assert(kCuHostDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kCuCaptureNone == CU_STREAM_CAPTURE_STATUS_NONE);
static_assert(kCuCaptureModeRelaxed == CU_STREAM_CAPTURE_MODE_RELAXED);

static_assert(sizeof(shared::TensorMap) == sizeof(CUtensorMap));
static_assert(alignof(shared::TensorMap) >= 64);  // what cuTensorMapEncodeTiled asks for

static_assert(sizeof(CuLaunchAttribute) == sizeof(CUlaunchAttribute));
static_assert(offsetof(CuLaunchAttribute, value) == offsetof(CUlaunchAttribute, value));
static_assert(sizeof(CuLaunchConfig) == sizeof(CUlaunchConfig));
static_assert(offsetof(CuLaunchConfig, grid) == offsetof(CUlaunchConfig, gridDimX));
static_assert(offsetof(CuLaunchConfig, block) == offsetof(CUlaunchConfig, blockDimX));
static_assert(offsetof(CuLaunchConfig, shared_bytes) == offsetof(CUlaunchConfig, sharedMemBytes));
static_assert(offsetof(CuLaunchConfig, stream) == offsetof(CUlaunchConfig, hStream));
static_assert(offsetof(CuLaunchConfig, attributes) == offsetof(CUlaunchConfig, attrs));
static_assert(offsetof(CuLaunchConfig, attribute_count) == offsetof(CUlaunchConfig, numAttrs));

TEST(DriverApi, MatchesTheToolkitsHeader) {
  CUlaunchAttribute theirs = {};
  theirs.value.clusterDim.x = 7;
  EXPECT_EQ(reinterpret_cast<const CuLaunchAttribute&>(theirs).value.cluster[0], 7U);
}

}  // namespace
}  // namespace wgrad::launch
#else
TEST(DriverApi, MatchesTheToolkitsHeader) {
  GTEST_SKIP() << "no cuda.h on this machine";
}
#endif
