#include "jit/resource_usage.hpp"

#include <gtest/gtest.h>

namespace wgrad::jit {
namespace {

TEST(ResourceUsage, ReadsTheReportOfACleanKernel) {
  const auto usage = resource_usage(
      "ptxas info    : 249 bytes gmem\n"
      "ptxas info    : Compiling entry function 'wgrad_kernel' for 'sm_90a'\n"
      "ptxas info    : Function properties for wgrad_kernel\n"
      "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Used 168 registers, used 16 barriers, 1024 bytes smem\n"
      "ptxas info    : Compile time = 369.687 ms\n\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(*usage, (ResourceUsage{168, 0, 0, 1024, ""}));
}

TEST(ResourceUsage, AddsSpillsOfEveryFunction) {
  const auto usage = resource_usage(
      "ptxas info    : Function properties for helper\n"
      "    48 bytes stack frame, 8 bytes spill stores, 16 bytes spill loads\n"
      "ptxas info    : Function properties for wgrad_kernel\n"
      "    32 bytes stack frame, 4 bytes spill stores, 2 bytes spill loads\n"
      "ptxas info    : Used 255 registers\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(*usage, (ResourceUsage{255, 48, 30, 0, ""}));
}

TEST(ResourceUsage, KeepsWhatTheCompilerComplainsAbout) {
  const std::string complaint =
      "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are "
      "serialized due to insufficient register resources";
  const auto usage = resource_usage(complaint + "\nptxas info    : Used 90 registers\n");
  ASSERT_TRUE(usage);
  EXPECT_EQ(usage->warnings, complaint + "\n");
}

TEST(ResourceUsage, SaysNothingWithoutAReport) {
  EXPECT_FALSE(resource_usage(""));
  EXPECT_FALSE(resource_usage("ptxas info    : 249 bytes gmem"));
}

}  // namespace
}  // namespace wgrad::jit
