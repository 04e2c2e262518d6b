// That tools/gpu_check has kernels to run where there is a GPU.
#include "launch/sanitizer_kernels.hpp"

#include <gtest/gtest.h>

#include "jit/device_headers.hpp"
#include "jit/nvrtc_fixture.hpp"

namespace wgrad::test {
namespace {

using SanitizerKernels = jit::NvrtcTest;

TEST_F(SanitizerKernels, CompileUnderEveryNameOfTheList) {
  const jit::Cubin cubin =
      jit::Nvrtc::instance().compile(sanitizer_kernels(), jit::device_headers());
  for (const SanitizerControl& control : sanitizer_controls()) {
    EXPECT_NE(cubin.bytes.find(std::string(".text.") + control.kernel + '\0'), std::string::npos)
        << control.kernel;
  }
}

}  // namespace
}  // namespace wgrad::test
