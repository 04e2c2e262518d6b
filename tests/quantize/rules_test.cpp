// What a call of quantisation on a device must be; and what a launch of it asks of the driver.
#include "quantize/rules.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "quantize/device_quantizer.hpp"
#include "support/driver/fake_driver.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::quantize {
namespace {

/// A good call; nothing of it is read.
struct Good {
  Good() {
    operand.source = memory.data();
    operand.rows = 64;
    operand.token_stride = 64;
    operand.elements = memory.data();
    operand.scales = memory.data();
    call.spec.format = Format::kNvfp4;
    call.spec.element = DType::kE2m1;
    operand.global_scales = reinterpret_cast<float*>(memory.data());
    call.tokens = 64;
    call.experts = 2;
    call.offsets = reinterpret_cast<const std::int32_t*>(memory.data());
    call.scale_cols = 8;
    call.workspace = memory.data();
    call.device = 0;
  }
  const DeviceQuantization& made() {
    operands = {operand, operand, operand};
    call.operands = std::span(operands).first(count);
    return call;
  }

  alignas(16) std::array<std::byte, 64> memory = {};
  DeviceQuantizeOperand operand;
  std::array<DeviceQuantizeOperand, 3> operands = {};
  std::size_t count = 1;
  DeviceQuantization call;
};

template <typename Change>
std::string refusal(const Change& change) {
  Good good;
  change(good);
  try {
    check_call(good.made());
  } catch (const ValueError& error) {
    return error.what();
  }
  return "";
}

TEST(QuantizeRules, AGoodCallIsTaken) {
  EXPECT_EQ(refusal([](Good&) {}), "");
  EXPECT_EQ(refusal([](Good& g) { g.count = 2; }), "");
  EXPECT_EQ(refusal([](Good& g) { g.operand.rows = 0, g.operand.source = nullptr; }), "");
}

TEST(QuantizeRules, EachFaultIsASentence) {
  const auto expect = [](const std::string& text, auto change) {
    EXPECT_EQ(refusal(change).substr(0, text.size() + 7), "wgrad: " + text);
  };
  expect("workspace is null; it must be an address", [](Good& g) { g.call.workspace = nullptr; });
  expect("offsets is null", [](Good& g) { g.call.offsets = nullptr; });
  expect("source is null", [](Good& g) { g.operand.source = nullptr; });
  expect("elements is null", [](Good& g) { g.operand.elements = nullptr; });
  expect("global_scales is null", [](Good& g) { g.operand.global_scales = nullptr; });
  expect("scales is at address", [](Good& g) { g.operand.scales = g.memory.data() + 8; });
  expect("source is at address", [](Good& g) { g.operand.source = g.memory.data() + 1; });
  expect("scale_cols is 4; it must be at least 8 for these tokens and experts, and a multiple of 4",
         [](Good& g) { g.call.scale_cols = 4; });
  expect("scale_cols is 9; it must be", [](Good& g) { g.call.scale_cols = 9; });
  expect("tokens is 63; it must be even", [](Good& g) { g.call.tokens = 63; });
  expect("tokens is -2; it must be from 0", [](Good& g) { g.call.tokens = -2; });
  expect("rows is -1; it must be 0 or more", [](Good& g) { g.operand.rows = -1; });
  expect("row_stride is -1", [](Good& g) { g.operand.row_stride = -1; });
  expect("source_dtype is float8_e4m3fn; it must be bfloat16, float16 or float32",
         [](Good& g) { g.call.source_dtype = DType::kE4m3; });
  expect("operands is 3 of them; it must be one or two", [](Good& g) { g.count = 3; });
  expect("operands is 0 of them", [](Good& g) { g.count = 0; });
  expect("stochastic_seed is given; it must be left out for MX formats", [](Good& g) {
    g.call.spec.format = Format::kMxfp4;
    g.call.spec.stochastic_seed = 1;
  });
  expect("global_scales is given; it must be null for MX formats",
         [](Good& g) { g.call.spec.format = Format::kMxfp4; });
  expect("major is MN-major", [](Good& g) { g.call.spec.major = Major::kMn; });
}

TEST(QuantizeRules, ColumnsSufficeForTheWorstOffsets) {
  // 3 experts of 1 token each begin an atom column group each; the rest of 61 tokens fills others.
  EXPECT_EQ(device_scale_cols(64, 3, 16, ScaleLayout::kCompact), 6);
  EXPECT_EQ(device_scale_cols(64, 3, 16, ScaleLayout::kSwizzled), 12);
  EXPECT_EQ(device_scale_cols(0, 3, 16, ScaleLayout::kSwizzled), 0);
  EXPECT_EQ(device_scale_cols(2, 1000, 32, ScaleLayout::kCompact), 2);
}

/// A quantizer on a driver that computes nothing.
struct Recorder {
  launch::FakeDriver fake;
  std::unique_ptr<launch::Runtime> runtime;
  std::unique_ptr<DeviceQuantizer> quantizer;

  Recorder() {
    fake.make_current(0);
    runtime = std::make_unique<launch::Runtime>(fake.api());
    quantizer = std::make_unique<DeviceQuantizer>(*runtime, [this](const kernels::KernelSource& s) {
      return runtime->load({s.digest(), "ELF", s.entry, s.arch, s.shared_bytes});
    });
  }
};

TEST(DeviceQuantizer, ComputedGlobalScalesTakeALaunchMore) {
  Recorder recorder;
  Good good;
  recorder.quantizer->run(good.made(), false);
  EXPECT_EQ(recorder.fake.launches.size(), 3U);
  good.operand.given_global_scales = good.operand.global_scales;
  recorder.quantizer->run(good.made(), false);
  EXPECT_EQ(recorder.fake.launches.size(), 5U);
}

TEST(DeviceQuantizer, APairIsOneLaunchWhereOneKernelServesBoth) {
  Recorder recorder;
  Good good;
  good.count = 2;
  recorder.quantizer->run(good.made(), false);
  EXPECT_EQ(recorder.fake.launches.size(), 3U);
}

TEST(DeviceQuantizer, AWarmCallOnlyLaunches) {
  Recorder recorder;
  Good good;
  good.call.stream = recorder.fake.stream(0);
  recorder.quantizer->run(good.made(), false);
  recorder.fake.forget_calls();
  recorder.fake.capture_status = 1;  // a graph is being captured
  recorder.quantizer->run(good.made(), false);
  EXPECT_EQ(recorder.fake.count("launch_kernel"), 3);
  for (const char* call : {"stream_synchronize", "copy_to_host_async", "host_alloc",
                           "library_load_data", "kernel_set_attribute"}) {
    EXPECT_EQ(recorder.fake.count(call), 0) << call;
  }
  EXPECT_EQ(recorder.fake.launches.back().config.stream, good.call.stream);
  EXPECT_FALSE(recorder.fake.launches.back().programmatic);
}

TEST(DeviceQuantizer, ValidationReadsTheOffsetsBack) {
  Recorder recorder;
  Good good;
  const std::array<std::int32_t, 2> offsets = {31, 64};
  good.call.offsets = offsets.data();
  EXPECT_THROW(recorder.quantizer->run(good.made(), true), ValueError);
  EXPECT_EQ(recorder.fake.launches.size(), 0U);
  recorder.fake.capture_status = 1;
  EXPECT_THROW(recorder.quantizer->run(good.made(), true), RuntimeError);
}

TEST(DeviceQuantizer, AnotherArchitectureIsRefusedByName) {
  Recorder recorder;
  Good good;
  good.call.device = 2;
  try {
    recorder.quantizer->run(good.made(), false);
    FAIL() << "an Ampere device was taken";
  } catch (const RuntimeError& error) {
    EXPECT_NE(std::string(error.what()).find("fake 2 has compute capability 8.0"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace wgrad::quantize
