#include "cli/cuda_memory.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

using Address = std::uint64_t;

/// The few driver functions that this takes, by the names that cuda.h gives their latest versions.
struct Driver {
  int (*init)(unsigned) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*retain)(void**, int) = nullptr;
  int (*use)(void*) = nullptr;
  int (*allocate)(Address*, std::size_t) = nullptr;
  int (*release)(Address) = nullptr;
  int (*to_device)(Address, const void*, std::size_t) = nullptr;
  int (*to_host)(void*, Address, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
  int (*create_event)(void**, unsigned) = nullptr;
  int (*destroy_event)(void*) = nullptr;
  int (*record_event)(void*, void*) = nullptr;
  int (*elapsed)(float*, void*, void*) = nullptr;

  Driver() {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == nullptr)
      throw RuntimeError("wgrad: no CUDA driver (libcuda.so.1) on this machine");
    const auto find = [&](auto& function, const char* name) {
      void* symbol = dlsym(library, name);
      if (symbol == nullptr)
        throw RuntimeError(fmt::format("wgrad: the CUDA driver lacks {}", name));
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(symbol);
    };
    find(init, "cuInit");
    find(device, "cuDeviceGet");
    find(retain, "cuDevicePrimaryCtxRetain");
    find(use, "cuCtxSetCurrent");
    find(allocate, "cuMemAlloc_v2");
    find(release, "cuMemFree_v2");
    find(to_device, "cuMemcpyHtoD_v2");
    find(to_host, "cuMemcpyDtoH_v2");
    find(synchronize, "cuCtxSynchronize");
    find(create_event, "cuEventCreate");
    find(destroy_event, "cuEventDestroy_v2");
    find(record_event, "cuEventRecord");
    find(elapsed, "cuEventElapsedTime");
  }
};

void check(int result, const char* what) {
  if (result != 0) throw RuntimeError(fmt::format("wgrad: {} failed: CUDA error {}", what, result));
}

class CudaMemory final : public Memory {
 public:
  explicit CudaMemory(int ordinal) {
    check(driver_.init(0), "cuInit");
    int device = 0;
    check(driver_.device(&device, ordinal), "cuDeviceGet");
    void* context = nullptr;
    check(driver_.retain(&context, device), "cuDevicePrimaryCtxRetain");
    check(driver_.use(context), "cuCtxSetCurrent");
    check(driver_.create_event(&begin_, 0), "cuEventCreate");
    check(driver_.create_event(&end_, 0), "cuEventCreate");
  }
  ~CudaMemory() override {
    for (void* event : {begin_, end_}) driver_.destroy_event(event);
    for (const auto& [host, mirror] : mirrors_) driver_.release(mirror);
  }

  void* mirror(std::span<std::byte> host) override {
    Address address = 0;
    check(driver_.allocate(&address, std::max<std::size_t>(host.size(), 1)), "cuMemAlloc");
    mirrors_[host.data()] = address;
    push(host);
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
  }
  void forget(std::span<std::byte> host) override {
    const auto mirror = mirrors_.find(host.data());
    if (mirror == mirrors_.end()) return;
    driver_.release(mirror->second);  // waits
    mirrors_.erase(mirror);
  }
  void push(std::span<std::byte> host) override {
    if (host.empty()) return;
    check(driver_.to_device(mirrors_.at(host.data()), host.data(), host.size()), "cuMemcpyHtoD");
  }
  void pull(std::span<std::byte> host) override {
    wait();
    if (host.empty()) return;
    check(driver_.to_host(host.data(), mirrors_.at(host.data()), host.size()), "cuMemcpyDtoH");
  }
  void wait() override { check(driver_.synchronize(), "the kernel"); }
  double milliseconds(const std::function<void()>& work) override {
    check(driver_.record_event(begin_, stream()), "cuEventRecord");
    work();
    check(driver_.record_event(end_, stream()), "cuEventRecord");
    wait();
    float elapsed = 0;
    check(driver_.elapsed(&elapsed, begin_, end_), "cuEventElapsedTime");
    return elapsed;
  }
  void* stream() override { return nullptr; }

 private:
  Driver driver_;
  void* begin_ = nullptr;
  void* end_ = nullptr;
  std::map<const void*, Address> mirrors_;
};

}  // namespace

std::unique_ptr<Memory> cuda_memory(int ordinal) {
  return std::make_unique<CudaMemory>(ordinal);
}

}  // namespace wgrad::cli
