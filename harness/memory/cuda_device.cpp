#include "harness/memory/cuda_device.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <mutex>

#include "harness/memory/cuda_driver.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::harness {
namespace {

constexpr std::int64_t kAlignment = 16;

/// The device's context is current on this thread while it lives.
class Current {
 public:
  Current(const CudaDriver& driver, void* context) : driver_(driver) {
    check_cuda(driver_.push(context), "cuCtxPushCurrent");
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current() {
    void* context = nullptr;
    driver_.pop(&context);
  }

 private:
  const CudaDriver& driver_;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int ordinal) {
    check_cuda(driver_.init(0), "cuInit");
    int device = 0;
    check_cuda(driver_.device(&device, ordinal), "cuDeviceGet");
    check_cuda(driver_.retain(&context_, device), "cuDevicePrimaryCtxRetain");
    const Current current(driver_, context_);
    properties_.location.id = ordinal;
    check_cuda(driver_.granularity(&granularity_, &properties_, 0),
               "cuMemGetAllocationGranularity");
    check_cuda(driver_.create_event(&begin_, 0), "cuEventCreate");
    check_cuda(driver_.create_event(&end_, 0), "cuEventCreate");
  }
  ~CudaDevice() override {
    for (void* event : {begin_, end_}) driver_.destroy_event(event);
  }

  void* allocate(std::int64_t bytes) override {
    if (bytes == 0) return nullptr;
    const Current current(driver_, context_);
    Region region{.mapped = round_up(bytes, static_cast<std::int64_t>(granularity_))};
    check_cuda(driver_.reserve(&region.base, reserved(region), 0, 0, 0), "cuMemAddressReserve");
    check_cuda(driver_.create(&region.memory, size(region), &properties_, 0), "cuMemCreate");
    check_cuda(driver_.map(first(region), size(region), 0, region.memory, 0), "cuMemMap");
    set_access(region, kCudaReadWrite);
    const CudaAddress address =
        first(region) + static_cast<CudaAddress>(region.mapped - round_up(bytes, kAlignment));
    poison_slack(address, bytes);
    const std::lock_guard lock(mutex_);
    regions_.emplace(address, region);
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }

  void release(void* pointer, std::int64_t) noexcept override {
    const Current current(driver_, context_);
    const std::lock_guard lock(mutex_);
    const auto found = regions_.find(reinterpret_cast<CudaAddress>(pointer));
    if (found == regions_.end()) return;
    const Region region = found->second;
    regions_.erase(found);
    driver_.synchronize();
    driver_.unmap(first(region), size(region));
    driver_.destroy(region.memory);
    driver_.unreserve(region.base, reserved(region));
  }

  /// Done when it returns: a copy from pageable memory may else still be under way, and streams
  /// that do not wait for the default one would run into it.
  void upload(void* to, const void* from, std::int64_t bytes) override {
    const Current current(driver_, context_);
    check_cuda(
        driver_.to_device(reinterpret_cast<CudaAddress>(to), from, static_cast<std::size_t>(bytes)),
        "cuMemcpyHtoD");
    check_cuda(driver_.synchronize(), "cuCtxSynchronize");
  }

  void download(void* to, const void* from, std::int64_t bytes) override {
    const Current current(driver_, context_);
    check_cuda(driver_.synchronize(), "the kernel");
    check_cuda(
        driver_.to_host(to, reinterpret_cast<CudaAddress>(from), static_cast<std::size_t>(bytes)),
        "cuMemcpyDtoH");
  }

  void protect(void* pointer, std::int64_t) override {
    const Current current(driver_, context_);
    const std::lock_guard lock(mutex_);
    set_access(regions_.at(reinterpret_cast<CudaAddress>(pointer)), kCudaReadOnly);
  }

  void synchronize() override {
    const Current current(driver_, context_);
    check_cuda(driver_.synchronize(), "the kernel");
  }

  double milliseconds(const std::function<void()>& work) override {
    const Current current(driver_, context_);
    check_cuda(driver_.record_event(begin_, nullptr), "cuEventRecord");
    work();
    check_cuda(driver_.record_event(end_, nullptr), "cuEventRecord");
    check_cuda(driver_.synchronize(), "the kernel");
    float elapsed = 0;
    check_cuda(driver_.elapsed(&elapsed, begin_, end_), "cuEventElapsedTime");
    return elapsed;
  }

 private:
  /// Reserved addresses: a guard, the mapped memory, a guard.
  struct Region {
    std::int64_t mapped = 0;
    CudaAddress base = 0;
    CudaAllocation memory = 0;
  };

  /// The rest of the last unit of kAlignment bytes: a kernel may load it, and must not use it.
  void poison_slack(CudaAddress address, std::int64_t bytes) {
    std::array<std::uint8_t, kAlignment> poison{};
    poison.fill(0xFF);
    const std::int64_t slack = round_up(bytes, kAlignment) - bytes;
    if (slack == 0) return;
    check_cuda(driver_.to_device(address + static_cast<CudaAddress>(bytes), poison.data(),
                                 static_cast<std::size_t>(slack)),
               "cuMemcpyHtoD");
  }

  static std::size_t size(const Region& r) { return static_cast<std::size_t>(r.mapped); }
  std::size_t reserved(const Region& r) const { return size(r) + 2 * granularity_; }
  CudaAddress first(const Region& r) const { return r.base + granularity_; }
  void set_access(const Region& region, int flags) {
    const CudaAccess access{properties_.location, flags};
    check_cuda(driver_.set_access(first(region), size(region), &access, 1), "cuMemSetAccess");
  }

  CudaDriver driver_;
  void* context_ = nullptr;
  CudaAllocationProperties properties_;
  std::size_t granularity_ = 0;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  std::mutex mutex_;
  std::map<CudaAddress, Region> regions_;
};

}  // namespace

std::shared_ptr<Device> cuda_memory(int ordinal) {
  return std::make_shared<CudaDevice>(ordinal);
}

}  // namespace wgrad::harness
