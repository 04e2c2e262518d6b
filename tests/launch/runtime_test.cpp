#include "launch/driver/runtime.hpp"

#include <gtest/gtest.h>

#include "launch/driver/current_context.hpp"
#include "launch/driver/loaded_kernel.hpp"
#include "support/driver/fake_driver.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::launch {
namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

class RuntimeTest : public testing::Test {
 protected:
  FakeDriver fake_;
  Runtime runtime_{fake_.api()};
};

TEST_F(RuntimeTest, DescribesItsDevices) {
  EXPECT_EQ(runtime_.device_count(), 3);
  const DeviceSpec spec = runtime_.device_spec(1);
  EXPECT_EQ(spec.kind, DeviceKind::kCuda);
  EXPECT_EQ(spec.name, "fake 1");
  EXPECT_EQ(spec.arch, 90);
  EXPECT_EQ(spec.sm_count, 132);
  EXPECT_EQ(spec.smem_bytes, 232448);
  EXPECT_EQ(spec.l2_bytes, 62914560);
  EXPECT_EQ(message_of([&] { runtime_.device_spec(3); }),
            "wgrad: device is 3; it must be from 0 to 2");
  EXPECT_EQ(message_of([&] { runtime_.device_spec(-1); }),
            "wgrad: device is -1; it must be from 0 to 2");
}

TEST_F(RuntimeTest, RetainsAPrimaryContextOnce) {
  EXPECT_EQ(runtime_.primary_context(1), runtime_.primary_context(1));
  EXPECT_NE(runtime_.primary_context(0), runtime_.primary_context(1));
  EXPECT_EQ(fake_.count("primary_context_retain"), 2);
}

TEST_F(RuntimeTest, LeavesTheRightContextAlone) {
  fake_.make_current(1);
  {
    const CurrentContext current(runtime_, 1);
    EXPECT_EQ(fake_.current_device(), 1);
  }
  EXPECT_EQ(fake_.count("context_push"), 0);
  EXPECT_EQ(fake_.count("primary_context_retain"), 0);
}

TEST_F(RuntimeTest, BringsTheFormerContextBack) {
  fake_.make_current(0);
  {
    const CurrentContext current(runtime_, 1);
    EXPECT_EQ(fake_.current_device(), 1);
  }
  EXPECT_EQ(fake_.current_device(), 0);
  EXPECT_EQ(fake_.context_depth(), 1U);
}

TEST_F(RuntimeTest, LeavesNothingCurrentWhereNothingWas) {
  {
    const CurrentContext current(runtime_, 1);
    EXPECT_EQ(fake_.current_device(), 1);
  }
  EXPECT_EQ(fake_.context_depth(), 0U);
}

TEST_F(RuntimeTest, TakesTheStreamsContext) {
  const CurrentContext current(runtime_, 1, fake_.stream(1));
  EXPECT_EQ(fake_.count("stream_get_context"), 1);
  EXPECT_EQ(fake_.current_device(), 1);
}

TEST_F(RuntimeTest, LoadsAKernelOnceAndNeverUnloads) {
  const auto first = runtime_.load({"k", "ELF", "entry", 90, 1024});
  EXPECT_EQ(runtime_.load({"k", "ELF", "entry", 90, 1024}), first);
  EXPECT_EQ(fake_.count("library_load_data"), 1);
  runtime_.load({"other", "ELF", "entry", 90, 1024});
  EXPECT_EQ(fake_.count("library_load_data"), 2);
}

TEST_F(RuntimeTest, ExplainsACompilerNewerThanTheDriver) {
  fake_.failures["library_load_data"] = 218;
  EXPECT_EQ(message_of([&] {
              runtime_.load({"abc-nvrtc13.2", "ELF", "entry", 90, 1024});
            }),
            "wgrad: the NVIDIA driver (CUDA 12.4) does not load a kernel that NVRTC 13.2 compiled; "
            "where the driver is the older one, update it or set WGRAD_NVRTC to an NVRTC of its "
            "version: as planned (CUDA_ERROR_FAKE)");
  fake_.failures.clear();
  EXPECT_NE(runtime_.load({"abc-nvrtc13.2", "ELF", "entry", 90, 1024}), nullptr);
}

TEST_F(RuntimeTest, MakesEachDeviceReadyOnce) {
  const auto kernel = runtime_.load({"k", "ELF", "entry", 90, 4321});
  EXPECT_FALSE(kernel->is_ready(0));
  kernel->make_ready(0);
  kernel->make_ready(0);
  kernel->make_ready(1);
  EXPECT_TRUE(kernel->is_ready(0));
  EXPECT_EQ(fake_.smem_limits, (std::vector<std::pair<int, int>>{{0, 4321}, {1, 4321}}));
  EXPECT_EQ(fake_.count("kernel_get_function"), 2) << "loads the code before the first launch";
  EXPECT_EQ(fake_.context_depth(), 0U);
}

TEST_F(RuntimeTest, RefusesADeviceOfAnotherArchitecture) {
  const auto kernel = runtime_.load({"k", "ELF", "entry", 90, 1024});
  EXPECT_EQ(message_of([&] { kernel->make_ready(2); }),
            "wgrad: the operands are on CUDA device 2 (fake 2, SM 8.0); this operator was prepared "
            "for SM 9.0");
}

class FaultTest : public RuntimeTest {
 protected:
  FaultTest() { fake_.make_current(0); }

  shared::FaultRecord& record(const FaultRecords& records, int device) {
    return *reinterpret_cast<shared::FaultRecord*>(records.address(device));
  }
};

TEST_F(FaultTest, ReportsWhatADeviceWrote) {
  FaultRecords records(runtime_.faults(), 3);
  EXPECT_FALSE(records.first());
  record(records, 1) = {static_cast<int>(shared::FaultKind::kOffsetBeyond), 5, 900, 800};
  const auto fault = records.first();
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->what, "offset exceeds tokens");
  EXPECT_EQ(fault->expert, 5);
  EXPECT_EQ(fault->value, 900);
  EXPECT_EQ(fault->limit, 800);
  records.clear();
  EXPECT_FALSE(records.first());
}

TEST_F(FaultTest, OperatorsDoNotShareRecords) {
  FaultRecords one(runtime_.faults(), 3), two(runtime_.faults(), 3);
  record(one, 0).kind = 1;
  record(one, 2).kind = 1;
  EXPECT_FALSE(two.first());
}

TEST_F(FaultTest, RecordsComeBackClearAndLast) {
  CuAddress former = 0;
  {
    FaultRecords records(runtime_.faults(), 3);
    former = records.address(0);
    record(records, 0).kind = 1;
  }
  EXPECT_NE(FaultRecords(runtime_.faults(), 3).address(0), former) << "last to be used again";
  for (int i = 0; i < 3000; ++i) EXPECT_FALSE(FaultRecords(runtime_.faults(), 3).first());
  EXPECT_EQ(fake_.count("host_alloc"), 1);
}

TEST_F(FaultTest, PagesAreAddedWhenAllRecordsAreTaken) {
  std::vector<std::unique_ptr<FaultRecords>> all;
  for (int i = 0; i < 2000; ++i) {
    all.push_back(std::make_unique<FaultRecords>(runtime_.faults(), 3));
    record(*all.back(), 2).expert = i;
  }
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(record(*all[static_cast<std::size_t>(i)], 2).expert, i);
  EXPECT_GT(fake_.count("host_alloc"), 1);
}

}  // namespace
}  // namespace wgrad::launch
