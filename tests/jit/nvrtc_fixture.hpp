// Tests that need a real NVRTC: found where the library looks, or in the wheel of the Python that
// configured the build. Where there is none they are skipped with the reason, or fail where
// WGRAD_REQUIRE_NVRTC=1 says that there must be one.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>
#include <string>

#include "jit/nvrtc.hpp"
#include "jit/nvrtc_search.hpp"
#include "kernels/kernel_source.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::jit {

inline void add_wheel_folders() {
  std::istringstream folders(WGRAD_TEST_WHEEL_FOLDERS);
  for (std::string folder; std::getline(folders, folder, ':');) add_nvrtc_folder(folder);
}

/// Why there is no NVRTC; empty where there is one.
inline std::string why_no_nvrtc() {
  add_wheel_folders();
  try {
    Nvrtc::instance();
    return "";
  } catch (const RuntimeError& error) {
    return error.what();
  }
}

class NvrtcTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_no_nvrtc();
    if (why.empty()) return;
    const char* required = std::getenv("WGRAD_REQUIRE_NVRTC");  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(required == nullptr || std::string(required) != "1") << why;
    GTEST_SKIP() << why;
  }
};

/// A small kernel whose code differs with `factor`.
inline kernels::KernelSource small_kernel(int factor) {
  const std::string text =
      "#include \"wgrad/shared/types.hpp\"\n"
      "extern \"C\" __global__ void scale(wgrad::shared::i32* x) { x[threadIdx.x] *= " +
      std::to_string(factor) + "; }\n";
  return {"scale by " + std::to_string(factor),
          "scale",
          text,
          {"--gpu-architecture=sm_90a", "--std=c++20", "--device-as-default-execution-space",
           "--ptxas-options=-v"}};
}

}  // namespace wgrad::jit
