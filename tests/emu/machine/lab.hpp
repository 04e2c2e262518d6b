// One kernel on the machine, for a rule that it keeps or breaks.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "emu/machine.hpp"

namespace wgrad::emu {

struct Lab {
  Launch launch;
  GlobalMemory memory;

  explicit Lab(std::function<void()> kernel, std::uint32_t threads = 64) {
    launch.kernel = std::move(kernel);
    launch.threads = threads;
    launch.shared_bytes = 8192;
    launch.registers = 32;
    launch.regions = {{"data", 0, 64, 64}, {"barrier", 4096, 8, 8}};
  }
  std::optional<Fault> fault(std::uint64_t seed = 1) {
    return run(launch, memory, {.seed = seed}).fault;
  }
  void ends_well() {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto f = fault(seed);
      EXPECT_FALSE(f) << f->text();
    }
  }
  // Every seed finds it, since the order is the program's.
  void fails(FaultKind kind, const std::string& words = "") {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      const auto f = fault(seed);
      ASSERT_TRUE(f);
      EXPECT_EQ(name(f->kind), std::string(name(kind))) << f->text();
      EXPECT_NE(f->text().find(words), std::string::npos) << f->text();
    }
  }
};

}  // namespace wgrad::emu
