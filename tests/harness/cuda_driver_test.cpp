#include "harness/memory/cuda_driver.hpp"

#include <gtest/gtest.h>

#if __has_include(<cuda.h>)
#include <cuda.h>

namespace wgrad::harness {
namespace {

static_assert(sizeof(CudaAddress) == sizeof(CUdeviceptr));
static_assert(sizeof(CudaAllocation) == sizeof(CUmemGenericAllocationHandle));
static_assert(sizeof(CudaLocation) == sizeof(CUmemLocation));
static_assert(sizeof(CudaAllocationProperties) == sizeof(CUmemAllocationProp));
static_assert(offsetof(CudaAllocationProperties, location) ==
              offsetof(CUmemAllocationProp, location));
static_assert(sizeof(CudaAccess) == sizeof(CUmemAccessDesc));
static_assert(offsetof(CudaAccess, flags) == offsetof(CUmemAccessDesc, flags));

TEST(HarnessDriver, ConstantsAreThoseOfTheToolkit) {
  EXPECT_EQ(CudaLocation{}.type, CU_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(CudaAllocationProperties{}.type, CU_MEM_ALLOCATION_TYPE_PINNED);
  EXPECT_EQ(kCudaReadOnly, CU_MEM_ACCESS_FLAGS_PROT_READ);
  EXPECT_EQ(kCudaReadWrite, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(CU_MEM_ALLOC_GRANULARITY_MINIMUM, 0);
}

}  // namespace
}  // namespace wgrad::harness
#else
TEST(HarnessDriver, ConstantsAreThoseOfTheToolkit) {
  GTEST_SKIP() << "no CUDA toolkit's headers";
}
#endif
