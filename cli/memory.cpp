#include "cli/memory.hpp"

#include <chrono>

namespace wgrad::cli {
namespace {

class HostMemory final : public Memory {
 public:
  void* mirror(std::span<std::byte> host) override { return host.data(); }
  void forget(std::span<std::byte>) override {}
  void push(std::span<std::byte>) override {}
  void pull(std::span<std::byte>) override {}
  void wait() override {}
  double milliseconds(const std::function<void()>& work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }
  void* stream() override { return nullptr; }
};

}  // namespace

std::unique_ptr<Memory> host_memory() {
  return std::make_unique<HostMemory>();
}

}  // namespace wgrad::cli
