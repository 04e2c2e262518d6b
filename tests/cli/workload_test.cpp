#include "cli/workload.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <vector>

namespace wgrad::cli {
namespace {

/// Host memory that knows which mirrors there are.
class WatchedMemory final : public Memory {
 public:
  void* mirror(std::span<std::byte> host) override {
    EXPECT_TRUE(mirrors.insert(host.data()).second);
    return host.data();
  }
  void forget(std::span<std::byte> host) override { EXPECT_EQ(mirrors.erase(host.data()), 1U); }
  void push(std::span<std::byte>) override {}
  void pull(std::span<std::byte>) override {}
  void wait() override {}
  double milliseconds(const std::function<void()>& work) override {
    work();
    return 0;
  }
  void* stream() override { return nullptr; }

  std::set<const std::byte*> mirrors;
};

/// Else the data of all shapes of a run would lie in a GPU's memory at once.
TEST(Workload, ItsMirrorsEndWithIt) {
  WatchedMemory memory;
  for (const OutputMode mode : {OutputMode::kDense, OutputMode::kDiscrete}) {
    Problem p;
    p.experts = 3;
    p.m = 24;
    p.n = 16;
    p.output_mode = mode;
    {
      const std::vector<std::int64_t> counts = {37, 0, 5};
      const Workload workload(p, counts, 1, 1, memory);
      // The offsets, A and B; one output, or three and where they are.
      EXPECT_EQ(memory.mirrors.size(), mode == OutputMode::kDense ? 4U : 7U);
    }
    EXPECT_TRUE(memory.mirrors.empty());
  }
}

}  // namespace
}  // namespace wgrad::cli
