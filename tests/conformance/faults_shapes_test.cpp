// Field faults E: widths that other kernels got wrong.
#include <gtest/gtest.h>

#include "support/field_faults.hpp"

namespace wgrad::test {
namespace {

TEST_P(FieldFaults, F060_WidthsThatTrappedElsewhere) {
  for (const char* format : {"bf16", "mxfp8_e4m3"}) {
    if (!runs(format)) continue;
    ASSERT_TRUE(conforms(case_of(format, 768, 1536, {16, 0, 8, 24, 1, 0, 32, 15})));
  }
}

// 2880 is a multiple of neither 128 nor 192 nor 256.
TEST_P(FieldFaults, F066_WidthsBetweenTiles) {
  for (const char* format : {"bf16", "fp16", "mxfp8_e4m3", "mxfp4", "nvfp4"}) {
    if (!runs(format)) continue;
    for (const auto& [m, n] : {std::pair{2880, 24}, {24, 2880}}) {
      for (const Case& c : variants(format, m, n, {20, 0, 14, 34})) {
        const Result result = run(c);
        ASSERT_TRUE(result.finite());
        ASSERT_TRUE(result.matches_oracle());
      }
    }
  }
}

WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND();

}  // namespace
}  // namespace wgrad::test
