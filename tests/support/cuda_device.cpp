#include "support/cuda_device.hpp"

#include "wgrad/device_spec.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>
#include <dlfcn.h>

#include <map>
#include <mutex>
#include <stdexcept>
#include <string>

#include "launch/current_context.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::test {
namespace {

constexpr std::int64_t kAlignment = 16;

/// A driver function by name, with the type that cuda.h gives it.
template <typename Function>
Function* find(const char* symbol) {
  static void* const kDriver = dlopen("libcuda.so.1", RTLD_NOW);
  void* address = kDriver != nullptr ? dlsym(kDriver, symbol) : nullptr;
  if (address == nullptr) throw std::runtime_error(std::string("the driver lacks ") + symbol);
  return reinterpret_cast<Function*>(address);
}

void check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  throw std::runtime_error(std::string(what) + " failed: CUDA error " + std::to_string(result));
}

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {
    const auto current = use();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties_.location.id = ordinal;
    check(granularity_of_(&granularity_, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM),
          "cuMemGetAllocationGranularity");
  }

  void* allocate(std::int64_t bytes) override {
    if (bytes == 0) return nullptr;
    const auto current = use();
    Region region{.mapped = round_up(bytes, granularity())};
    check(reserve_(&region.base, reserved(region), 0, 0, 0), "cuMemAddressReserve");
    check(create_(&region.memory, static_cast<std::size_t>(region.mapped), &properties_, 0),
          "cuMemCreate");
    check(map_(first(region), static_cast<std::size_t>(region.mapped), 0, region.memory, 0),
          "cuMemMap");
    set_access(region, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    const CUdeviceptr address =
        first(region) + static_cast<CUdeviceptr>(region.mapped - round_up(bytes, kAlignment));
    const std::lock_guard lock(mutex_);
    regions_.emplace(address, region);
    return reinterpret_cast<void*>(address);
  }

  void release(void* pointer, std::int64_t) noexcept override {
    const auto current = use();
    const std::lock_guard lock(mutex_);
    const auto found = regions_.find(reinterpret_cast<CUdeviceptr>(pointer));
    if (found == regions_.end()) return;
    const Region region = found->second;
    regions_.erase(found);
    synchronize_();
    unmap_(first(region), static_cast<std::size_t>(region.mapped));
    destroy_(region.memory);
    free_(region.base, reserved(region));
  }

  /// Done when it returns: a copy from pageable memory may else still be under way, and streams
  /// that do not wait for the default one would run into it.
  void upload(void* to, const void* from, std::int64_t bytes) override {
    const auto current = use();
    check(to_device_(reinterpret_cast<CUdeviceptr>(to), from, static_cast<std::size_t>(bytes)),
          "cuMemcpyHtoD");
    check(synchronize_(), "cuCtxSynchronize");
  }

  void download(void* to, const void* from, std::int64_t bytes) override {
    const auto current = use();
    check(to_host_(to, reinterpret_cast<CUdeviceptr>(from), static_cast<std::size_t>(bytes)),
          "cuMemcpyDtoH");
  }

  void protect(void* pointer, std::int64_t) override {
    const auto current = use();
    const std::lock_guard lock(mutex_);
    set_access(regions_.at(reinterpret_cast<CUdeviceptr>(pointer)), CU_MEM_ACCESS_FLAGS_PROT_READ);
  }

  void synchronize() override {
    const auto current = use();
    check(synchronize_(), "cuCtxSynchronize");
  }

 private:
  /// Reserved addresses: a guard, the mapped memory, a guard.
  struct Region {
    std::int64_t mapped = 0;
    CUdeviceptr base = 0;
    CUmemGenericAllocationHandle memory = 0;
  };

  std::int64_t granularity() const { return static_cast<std::int64_t>(granularity_); }
  std::size_t reserved(const Region& r) const {
    return static_cast<std::size_t>(r.mapped) + 2 * granularity_;
  }
  CUdeviceptr first(const Region& r) const { return r.base + granularity_; }
  void set_access(const Region& region, CUmemAccess_flags flags) {
    const CUmemAccessDesc access{properties_.location, flags};
    check(set_access_(first(region), static_cast<std::size_t>(region.mapped), &access, 1),
          "cuMemSetAccess");
  }

  /// Any thread may call: the device's context is current while the result lives.
  launch::CurrentContext use() const { return {launch::Runtime::instance(), ordinal_}; }

  int ordinal_;
  CUmemAllocationProp properties_{};
  std::size_t granularity_ = 0;
  std::mutex mutex_;
  std::map<CUdeviceptr, Region> regions_;

  decltype(&cuMemGetAllocationGranularity) granularity_of_ =
      find<decltype(cuMemGetAllocationGranularity)>("cuMemGetAllocationGranularity");
  decltype(&cuMemAddressReserve) reserve_ =
      find<decltype(cuMemAddressReserve)>("cuMemAddressReserve");
  decltype(&cuMemAddressFree) free_ = find<decltype(cuMemAddressFree)>("cuMemAddressFree");
  decltype(&cuMemCreate) create_ = find<decltype(cuMemCreate)>("cuMemCreate");
  decltype(&cuMemRelease) destroy_ = find<decltype(cuMemRelease)>("cuMemRelease");
  decltype(&cuMemMap) map_ = find<decltype(cuMemMap)>("cuMemMap");
  decltype(&cuMemUnmap) unmap_ = find<decltype(cuMemUnmap)>("cuMemUnmap");
  decltype(&cuMemSetAccess) set_access_ = find<decltype(cuMemSetAccess)>("cuMemSetAccess");
  decltype(&cuMemcpyHtoD) to_device_ = find<decltype(cuMemcpyHtoD)>("cuMemcpyHtoD_v2");
  decltype(&cuMemcpyDtoH) to_host_ = find<decltype(cuMemcpyDtoH)>("cuMemcpyDtoH_v2");
  decltype(&cuCtxSynchronize) synchronize_ = find<decltype(cuCtxSynchronize)>("cuCtxSynchronize");
};

}  // namespace

std::shared_ptr<Device> cuda_memory(int ordinal) {
  if (ordinal >= cuda_device_count()) return nullptr;
  return std::make_shared<CudaDevice>(ordinal);
}

}  // namespace wgrad::test

#else

namespace wgrad::test {

std::shared_ptr<Device> cuda_memory(int) {
  return nullptr;
}

}  // namespace wgrad::test

#endif
