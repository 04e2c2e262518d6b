#include "cli/memory.hpp"

#include <fmt/format.h>

#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

class HostMemory final : public Memory {
 public:
  void* mirror(std::span<std::byte> host) override { return host.data(); }
  void push(std::span<std::byte>) override {}
  void pull(std::span<std::byte>) override {}
  void wait() override {}
  void* stream() override { return nullptr; }
};

}  // namespace

std::unique_ptr<Memory> memory_of(const DeviceSpec& device) {
  if (device.kind == DeviceKind::kCpu) return std::make_unique<HostMemory>();
  throw RuntimeError(
      fmt::format("wgrad: device is {}; it must be a CPU: `wgrad run` places data in host memory "
                  "only (use `wgrad explain --device` to read a GPU's plan)",
                  device.name));
}

}  // namespace wgrad::cli
