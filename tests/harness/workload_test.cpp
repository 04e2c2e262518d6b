#include "harness/workload.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

namespace wgrad::harness {
namespace {

/// A device of its own memory that counts what is allocated on it.
class CountingDevice final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    if (bytes == 0) return nullptr;
    ++allocations;
    return std::aligned_alloc(64, static_cast<std::size_t>((bytes + 63) / 64 * 64));
  }
  void release(void* pointer, std::int64_t) noexcept override {
    --allocations;
    std::free(pointer);
  }
  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
  void protect(void*, std::int64_t) override {}
  void synchronize() override {}
  double milliseconds(const std::function<void()>& work) override {
    work();
    return 0;
  }

  int allocations = 0;
};

Problem small(OutputMode mode) {
  Problem p;
  p.experts = 3;
  p.m = 24;
  p.n = 16;
  p.output_mode = mode;
  return p;
}

/// Else the data of all shapes of a run would lie in a GPU's memory at once.
TEST(Workload, ItsMirrorsEndWithIt) {
  const auto device = std::make_shared<CountingDevice>();
  for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete}) {
    {
      const std::vector<std::int64_t> counts = {37, 0, 5};
      const Workload workload(small(mode), counts, 1, 1, device);
      // The offsets, A and B; one output, or three and where they are.
      EXPECT_EQ(device->allocations, mode == OutputMode::kDense ? 4 : 7);
    }
    EXPECT_EQ(device->allocations, 0);
  }
}

/// What a device wrote reaches the host, what the host holds reached the device.
TEST(Workload, InputsGoToTheDeviceAndOutputsComeBack) {
  const auto device = std::make_shared<CountingDevice>();
  const std::vector<std::int64_t> counts = {37, 0, 5};
  Workload workload(small(OutputMode::kDense), counts, 1, 1, device);
  const Operands& there = workload.device_operands();
  const Operands& here = workload.host_operands();
  ASSERT_NE(there.a, here.a);
  EXPECT_EQ(std::memcmp(there.a, here.a, 24 * 42 * 2), 0);
  EXPECT_EQ(there.offsets[2], 42);
  std::memset(there.wgrad, 0x11, 3 * 24 * 16 * 2);
  workload.fetch_outputs();
  EXPECT_EQ(workload.output(2)[24 * 16 * 2 - 1], std::byte{0x11});
}

}  // namespace
}  // namespace wgrad::harness
