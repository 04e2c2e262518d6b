#include "launch/driver_launch.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "kernels/search.hpp"
#include "kernels/sm90/config.hpp"
#include "plan/hopper.hpp"
#include "support/driver/fake_driver.hpp"
#include "support/refusal.hpp"
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

Problem plain() {
  Problem p;
  p.experts = 2;
  p.m = 384;
  p.n = 640;
  p.tokens = 640;
  p.tiling.cluster_m = p.tiling.cluster_n = 1;  // no CTAs that share tokens
  return p;
}

/// A prepared operator and operands on a device.
class LaunchTest : public testing::Test {
 protected:
  LaunchTest() { fake_.make_current(0); }

  static plan::Plan plan_of(const Problem& p) { return kernels::plans("cuda", p, hopper()).at(0); }
  static kernels::sm90::LaunchConfig config(const Problem& p) {
    return plan_of(p).config.as<kernels::sm90::LaunchConfig>();
  }
  static KernelModule module_of(const Problem& p) {
    return {"k", "ELF", "entry", 90, config(p).smem_bytes};
  }
  DriverLaunch prepare(const Problem& p, bool validate = false, int device = -1) {
    return {runtime_, p, plan_of(p), runtime_.load(module_of(p)), validate, device};
  }
  Operands operands(const Problem& p, int device = 0) {
    Operands o;
    o.tokens = p.tokens;
    o.a = fake_.memory(device, 64);
    o.b = fake_.memory(device, 64);
    auto* offsets = static_cast<std::int32_t*>(
        fake_.memory(device, static_cast<std::size_t>(p.experts) * sizeof(std::int32_t)));
    for (std::int64_t e = 0; e < p.experts; ++e) {
      offsets[e] = static_cast<std::int32_t>(p.tokens * (e + 1) / p.experts);
    }
    o.offsets = offsets;
    o.device = device;
    if (p.output_mode == OutputMode::kDense) {
      o.wgrad = fake_.memory(device, 64);
    } else {
      auto* pointers = static_cast<std::int64_t*>(
          fake_.memory(device, static_cast<std::size_t>(p.experts) * sizeof(std::int64_t)));
      for (std::int64_t e = 0; e < p.experts; ++e) pointers[e] = 0x10000 + 0x100000 * e;
      o.wgrad_ptrs = pointers;
    }
    return o;
  }
  std::int32_t* offsets_of(const Operands& o) { return const_cast<std::int32_t*>(o.offsets); }

  FakeDriver fake_;
  Runtime runtime_{fake_.api()};
};

TEST_F(LaunchTest, PassesEveryOperand) {
  const Problem p = plain();
  const auto op = prepare(p);
  Operands o = operands(p);
  o.stream = fake_.stream(0);
  op.launch(o);
  ASSERT_EQ(fake_.launches.size(), 1U);
  const RecordedLaunch& launch = fake_.launches[0];
  const shared::KernelParams& params = launch.params;
  const auto address = [](const void* x) { return reinterpret_cast<shared::u64>(x); };
  EXPECT_EQ(params.a, address(o.a));
  EXPECT_EQ(params.b, address(o.b));
  EXPECT_EQ(params.offsets, address(o.offsets));
  EXPECT_EQ(params.wgrad, address(o.wgrad));
  EXPECT_EQ(params.out_map_base, address(o.wgrad));
  EXPECT_EQ(params.wgrad_ptrs, 0U);
  EXPECT_EQ(params.expert_stride_bytes, 384 * 640 * 2);
  EXPECT_EQ(params.row_pitch_bytes, 1280);
  EXPECT_EQ(params.tokens, 640);
  EXPECT_EQ(params.m, 384);
  EXPECT_EQ(params.n, 640);
  EXPECT_EQ(params.experts, 2);
  EXPECT_EQ(params.raster_m, config(p).raster_m);
  EXPECT_NE(params.fault, 0U);
  EXPECT_EQ(params.map_a.opaque[0], params.a);
  EXPECT_EQ(params.map_b.opaque[0], params.b);
  EXPECT_EQ(params.map_out.opaque[0], params.out_map_base);
  EXPECT_EQ(launch.config.grid[0], static_cast<unsigned>(config(p).grid));
  EXPECT_EQ(launch.config.block[0], 384U);
  EXPECT_EQ(launch.config.shared_bytes, static_cast<unsigned>(config(p).smem_bytes));
  EXPECT_EQ(launch.config.stream, fake_.stream(0));
  EXPECT_EQ(launch.cluster, static_cast<unsigned>(shared::cluster_ctas(config(p).kernel)));
}

TEST_F(LaunchTest, PairsOfCtasAreLaunchedAsClusters) {
  Problem p = plain();
  p.tiling = {256, 128, 0, 0};
  prepare(p).launch(operands(p));
  EXPECT_EQ(fake_.launches[0].cluster, 2U);
  p.tiling = {128, 128, 1, 1};
  prepare(p).launch(operands(p));
  EXPECT_EQ(fake_.launches[1].cluster, 1U);
  EXPECT_EQ(fake_.launches[1].config.attribute_count, 1U) << "programmatic, no cluster";
}

TEST_F(LaunchTest, LaunchesAreProgrammaticWhereGraphsCaptureThem) {
  const Problem p = plain();
  prepare(p).launch(operands(p));
  EXPECT_TRUE(fake_.launches[0].programmatic);
  fake_.version = 12020;
  Runtime old{fake_.api()};
  DriverLaunch(old, p, plan_of(p), old.load(module_of(p)), false, 0).launch(operands(p));
  EXPECT_FALSE(fake_.launches[1].programmatic);
}

TEST_F(LaunchTest, LaunchesThatLeaveSmsToOthersBeginAfterTheOneBefore) {
  const Problem p = plain();
  kernels::sm90::LaunchConfig limited = config(p);
  limited.overlaps = false;
  plan::Plan plan = plan_of(p);
  plan.config = limited;
  DriverLaunch(runtime_, p, plan, runtime_.load(module_of(p)), false, 0).launch(operands(p));
  EXPECT_FALSE(fake_.launches[0].programmatic);
}

TEST_F(LaunchTest, AWarmCallOnlyLaunches) {
  const Problem p = plain();
  const auto op = prepare(p);
  const Operands o = operands(p);
  op.launch(o);
  fake_.forget_calls();
  op.launch(o);
  EXPECT_EQ(fake_.calls(),
            (std::vector<std::string>{"context_get_current", "context_get_device",
                                      "stream_is_capturing", "stream_get_id", "launch_kernel"}));
}

TEST_F(LaunchTest, TheFirstCallLoadsAndAllocatesNothing) {
  const Problem p = plain();
  const auto op = prepare(p);
  fake_.forget_calls();
  op.launch(operands(p));
  const std::set<std::string> allowed = {"context_get_current", "context_get_device",
                                         "tensor_map_encode",   "stream_is_capturing",
                                         "stream_get_id",       "launch_kernel"};
  for (const std::string& call : fake_.calls()) EXPECT_TRUE(allowed.contains(call)) << call;
}

/// Tiles are claimed from counters that no launch running at the same time shares.
TEST_F(LaunchTest, LaunchesOfOneStreamShareACounterAndOthersDoNot) {
  const Problem p = plain();
  const auto op = prepare(p);
  Operands o = operands(p);
  for (const int stream : {0, 1, 0, 1}) {
    o.stream = fake_.stream(stream);
    op.launch(o);
  }
  const auto claims = [&](std::size_t launch) { return fake_.launches[launch].params.claims; };
  EXPECT_GE(claims(0), FakeDriver::claims(0));
  EXPECT_EQ(claims(2), claims(0));
  EXPECT_EQ(claims(3), claims(1));
  EXPECT_GE(std::max(claims(0), claims(1)) - std::min(claims(0), claims(1)),
            sizeof(shared::ClaimCounters));
}

TEST_F(LaunchTest, EveryCapturedLaunchHasACounterOfItsOwnUntilTheyAreUsedUp) {
  const Problem p = plain();
  const auto op = prepare(p);
  const Operands o = operands(p);
  op.launch(o);
  fake_.capture_status = 1;
  std::set<shared::u64> seen = {fake_.launches[0].params.claims};
  constexpr int kCaptures = shared::kClaimSlots - ClaimSlots::kStreams;
  for (int i = 0; i < kCaptures; ++i) op.launch(o);
  for (const RecordedLaunch& launch : fake_.launches) seen.insert(launch.params.claims);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(kCaptures) + 1);
  EXPECT_EQ(*seen.rbegin(), FakeDriver::claims(0) + std::size_t{8} * (shared::kClaimSlots - 1));
  op.launch(o);
  EXPECT_EQ(fake_.launches.back().params.claims, 0U) << "dealt out in turn";
}

TEST_F(LaunchTest, WithoutANameForTheStreamTilesAreDealtOutInTurn) {
  const Problem p = plain();
  const auto op = prepare(p);
  fake_.failures["stream_get_id"] = 1;
  op.launch(operands(p));
  fake_.failures = {{"stream_is_capturing", 906}};
  op.launch(operands(p));
  for (const RecordedLaunch& launch : fake_.launches) EXPECT_EQ(launch.params.claims, 0U);
}

TEST_F(LaunchTest, CountersOfAnotherContextAreLeftAlone) {
  const Problem p = plain();
  const auto op = prepare(p);
  op.launch(operands(p));
  fake_.make_another_context_current(0);
  op.launch(operands(p));
  EXPECT_NE(fake_.launches[0].params.claims, 0U);
  EXPECT_EQ(fake_.launches[1].params.claims, 0U);
}

TEST_F(LaunchTest, AKernelWithoutCountersIsDealtItsTiles) {
  fake_.failures["library_get_global"] = 500;
  const Problem p = plain();
  prepare(p).launch(operands(p));
  EXPECT_EQ(fake_.launches[0].params.claims, 0U);
}

TEST_F(LaunchTest, PairsOfCtasClaimTheirTilesToo) {
  Problem p = plain();
  p.tiling = {256, 128, 0, 0};
  prepare(p).launch(operands(p));
  EXPECT_NE(fake_.launches[0].params.claims, 0U);
}

TEST_F(LaunchTest, NewAddressesMakeNewMaps) {
  const Problem p = plain();
  const auto op = prepare(p);
  op.launch(operands(p));
  const Operands other = operands(p);
  op.launch(other);
  EXPECT_EQ(fake_.launches[1].params.map_a.opaque[0], reinterpret_cast<shared::u64>(other.a));
  EXPECT_EQ(fake_.launches[1].params.map_out.opaque[0], reinterpret_cast<shared::u64>(other.wgrad));
}

TEST_F(LaunchTest, MapsFollowTokensOnlyForPlainKMajorOperands) {
  Problem p = plain();
  p.a_major = Major::kK;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.a_ld = 1024;
  op.launch(o);
  ASSERT_EQ(fake_.maps.size(), 3U);
  EXPECT_EQ(fake_.maps[0].dims[0], 640U);
  EXPECT_EQ(fake_.maps[0].strides[0], 2048U);
  o.tokens = 200;
  op.launch(o);
  ASSERT_EQ(fake_.maps.size(), 4U) << "A's map alone is another one";
  EXPECT_EQ(fake_.maps[3].dims[0], 200U);
}

TEST_F(LaunchTest, KMajorRowsOnMemoryLinesLetTheLoopStartThere) {
  Problem p = plain();
  p.a_major = Major::kK;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.a = reinterpret_cast<const void*>(0x10000);
  o.a_ld = 640;
  op.launch(o);
  o.a_ld = 648;
  op.launch(o);
  o.a_ld = 640;
  o.a = reinterpret_cast<const void*>(0x10010);
  op.launch(o);
  EXPECT_EQ(fake_.launches[0].params.token_alignment, 64);
  EXPECT_EQ(fake_.launches[1].params.token_alignment, 8);
  EXPECT_EQ(fake_.launches[2].params.token_alignment, 8);
}

// F095: tensors on a device that is not current.
TEST_F(LaunchTest, F095LaunchesWhereTheOperandsAreAndRestoresTheDevice) {
  const Problem p = plain();
  const auto op = prepare(p);
  Operands o = operands(p, 1);
  o.device = -1;
  op.launch(o);
  EXPECT_EQ(fake_.launches[0].device, 1) << "found by the address of offsets";
  EXPECT_EQ(fake_.current_device(), 0);
  EXPECT_EQ(fake_.context_depth(), 1U);
  o.device = 1;
  o.stream = fake_.stream(1);
  op.launch(o);
  EXPECT_EQ(fake_.launches[1].device, 1);
  EXPECT_NE(fake_.launches[0].params.fault, 0U);
  EXPECT_EQ(fake_.current_device(), 0);
}

TEST_F(LaunchTest, RestoresTheDeviceAfterAFailure) {
  const Problem p = plain();
  const auto op = prepare(p);
  fake_.failures["launch_kernel"] = 700;
  EXPECT_EQ(message_of([&] { op.launch(operands(p, 1)); }),
            "wgrad: the launch failed, or an earlier one on this device: as planned "
            "(CUDA_ERROR_FAKE)");
  EXPECT_EQ(fake_.current_device(), 0);
  EXPECT_EQ(fake_.context_depth(), 1U);
}

TEST_F(LaunchTest, WorksWhereNoContextIsCurrent) {
  const Problem p = plain();
  FakeDriver fresh;  // nothing is current
  Runtime runtime(fresh.api());
  const DriverLaunch op(runtime, p, plan_of(p), runtime.load(module_of(p)), false, -1);
  EXPECT_EQ(fresh.count("primary_context_retain"), 0) << "no context is made uninvited";
  EXPECT_FALSE(op.fault());
  Operands o;
  o.tokens = 0;
  o.offsets = static_cast<const std::int32_t*>(fresh.memory(1, 8));
  o.wgrad = fresh.memory(1, 64);
  op.launch(o);
  EXPECT_EQ(fresh.launches[0].device, 1);
  EXPECT_EQ(fresh.context_depth(), 0U);
}

TEST_F(LaunchTest, RefusesHostMemoryWhereTheDeviceIsNotNamed) {
  const Problem p = plain();
  const auto op = prepare(p);
  Operands o = operands(p);
  const std::int32_t on_host[2] = {};
  o.offsets = on_host;
  o.device = -1;
  const std::string message = message_of([&] { op.launch(o); });
  EXPECT_EQ(message.find("wgrad: offsets is at address 0x"), 0U) << message;
  EXPECT_NE(message.find(", which no CUDA device knows; it must be memory of the CUDA device that "
                         "holds the operands"),
            std::string::npos)
      << message;
  o.device = 7;
  EXPECT_EQ(message_of([&] { op.launch(o); }), "wgrad: device is 7; it must be from 0 to 2");
  EXPECT_TRUE(fake_.launches.empty());
}

TEST_F(LaunchTest, RefusesADeviceOfAnotherArchitecture) {
  const Problem p = plain();
  const auto op = prepare(p);
  EXPECT_NE(message_of([&] { op.launch(operands(p, 2)); }).find("SM 8.0"), std::string::npos);
  EXPECT_TRUE(fake_.launches.empty());
}

// F017, F009: a rank without tokens.
TEST_F(LaunchTest, F017TakesNullInputsWhereThereAreNoTokens) {
  Problem p = plain();
  p.a_major = Major::kK;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.a = o.b = nullptr;
  o.tokens = 0;
  op.launch(o);
  ASSERT_EQ(fake_.launches.size(), 1U);
  EXPECT_EQ(fake_.launches[0].params.map_a.opaque[0], fake_.launches[0].params.out_map_base);
  EXPECT_EQ(fake_.launches[0].params.tokens, 0);
}

TEST_F(LaunchTest, DiscreteOutputsNeedNoDenseAddress) {
  Problem p = plain();
  p.output_mode = OutputMode::kDiscrete;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.wgrad_ptrs += 1;  // 8-byte aligned
  op.launch(o);
  const auto& params = fake_.launches[0].params;
  EXPECT_EQ(params.wgrad, 0U);
  EXPECT_EQ(params.wgrad_ptrs, reinterpret_cast<shared::u64>(o.wgrad_ptrs));
  EXPECT_EQ(params.out_map_base % 16, 0U);
  EXPECT_NE(params.out_map_base, 0U);
}

/// Any leading dimension that the contract accepts makes maps that the driver accepts.
TEST_F(LaunchTest, LeadingDimensionsThatDoNotMatterStillMakeMaps) {
  Problem p = plain();
  p.m = 12;
  for (const Major major : {Major::kK, Major::kMn}) {
    p.a_major = p.b_major = major;
    const auto op = prepare(p);
    Operands o = operands(p);
    o.tokens = major == Major::kMn ? 1 : 8;
    o.a_ld = o.b_ld = 0;
    op.launch(o);
    o.tokens = 0;
    o.a_ld = o.b_ld = 3;
    op.launch(o);
  }
  p.m = 1;
  p.a_major = Major::kK;
  Operands o = operands(p);
  o.tokens = 5;
  o.b_ld = 640;
  p.b_major = Major::kMn;
  prepare(p).launch(o);
  EXPECT_EQ(fake_.launches.size(), 5U);
}

TEST_F(LaunchTest, RefusesWhatNoMapCanHold) {
  Problem p = plain();
  const auto op = prepare(p);
  Operands o = operands(p);
  o.tokens = kernels::sm90::kMaxTokens + 1;
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: tokens is 1073741825; it must be at most 1073741824 for an MN-major operand on "
            "SM 9.0");
  o.tokens = 640;
  o.a_ld = (std::int64_t{1} << 33);
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: a_ld is 8589934592; it must be at most 8589934584 on SM 9.0");
  o.a_ld -= 8;
  op.launch(o);
  EXPECT_EQ(fake_.launches.size(), 1U);
}

TEST_F(LaunchTest, RefusesMoreTokensThanTheKernelCounts) {
  Problem p = plain();
  p.a_major = p.b_major = Major::kK;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.a_ld = o.b_ld = (std::int64_t{1} << 31U);
  o.tokens = kernels::sm90::kMaxExtent + 1;
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: tokens is 2147483137; it must be at most 2147483136 on SM 9.0");
  o.tokens -= 1;
  op.launch(o);
  EXPECT_EQ(fake_.launches.size(), 1U);
}

TEST_F(LaunchTest, RaggedKMajorOperandsTakeNoMap) {
  Problem p = plain();
  p.a_major = Major::kK;
  p.input_order = InputOrder::kTensorRagged;
  const auto op = prepare(p);
  Operands o = operands(p);
  o.a_ld = std::int64_t{1} << 50;  // means nothing there
  op.launch(o);
  EXPECT_EQ(fake_.maps.size(), 2U) << "B and the output";
}

TEST_F(LaunchTest, FaultsAreReadWithoutACall) {
  const Problem p = plain();
  const auto op = prepare(p);
  op.launch(operands(p));
  EXPECT_FALSE(op.fault());
  auto* record = reinterpret_cast<shared::FaultRecord*>(fake_.launches[0].params.fault);
  *record = {static_cast<int>(shared::FaultKind::kOffsetDecreases), 1, 3, 4};
  fake_.forget_calls();
  ASSERT_TRUE(op.fault());
  EXPECT_EQ(op.fault()->what, "offsets decrease");
  op.clear_fault();
  EXPECT_FALSE(op.fault());
  EXPECT_TRUE(fake_.calls().empty());
}

TEST_F(LaunchTest, FaultsOfAnotherDeviceAreSeenToo) {
  const Problem p = plain();
  const auto op = prepare(p);
  op.launch(operands(p, 0));
  op.launch(operands(p, 1));
  ASSERT_NE(fake_.launches[0].params.fault, fake_.launches[1].params.fault);
  reinterpret_cast<shared::FaultRecord*>(fake_.launches[1].params.fault)->kind = 1;
  EXPECT_TRUE(op.fault());
}

TEST_F(LaunchTest, ValidationReadsOffsetsBeforeTheLaunch) {
  const Problem p = plain();
  const auto op = prepare(p, true);
  const Operands o = operands(p);
  op.launch(o);
  EXPECT_EQ(fake_.count("stream_synchronize"), 1);
  EXPECT_EQ(fake_.launches.size(), 1U);
  offsets_of(o)[1] = 641;
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: offsets[1] is 641; it must be at most T = 640");
  offsets_of(o)[0] = -1;
  EXPECT_EQ(test::refusal<ValueError>([&] { op.launch(o); }),
            "wgrad: offsets[0] is -1; it must be at least 0, the end of the expert before it\n"
            "offsets[1] is 641; it must be at most T = 640");
  EXPECT_EQ(fake_.launches.size(), 1U) << "nothing is launched on faulty data";
}

TEST_F(LaunchTest, ValidationReadsPointersToo) {
  Problem p = plain();
  p.output_mode = OutputMode::kDiscrete;
  const auto op = prepare(p, true);
  const Operands o = operands(p);
  op.launch(o);
  const_cast<std::int64_t*>(o.wgrad_ptrs)[1] = 0x10008;
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: wgrad_ptrs[1] is 0x10008; it must be a non-null address aligned to 16 bytes");
  const_cast<std::int64_t*>(o.wgrad_ptrs)[1] = 0x10010;
  EXPECT_EQ(message_of([&] { op.launch(o); }),
            "wgrad: wgrad_ptrs[1] is 0x10010, within the output of expert 0 at 0x10000; it must be "
            "at least 491520 bytes from every other");
  EXPECT_EQ(fake_.launches.size(), 1U);
}

TEST_F(LaunchTest, ValidationRefusesACapturedStream) {
  const Problem p = plain();
  const auto op = prepare(p, true);
  fake_.capture_status = 1;
  EXPECT_EQ(test::refusal<RuntimeError>([&] { op.launch(operands(p)); }),
            "wgrad: validation of device data is on (validate_device_data or WGRAD_VALIDATE) and "
            "stream is being captured into a CUDA graph; it must not be: validation reads the "
            "offsets back and waits for them");
  EXPECT_EQ(fake_.count("copy_to_host_async"), 0);
  EXPECT_TRUE(fake_.launches.empty());
  prepare(p).launch(operands(p));
  EXPECT_EQ(fake_.launches.size(), 1U) << "without validation a capture is like any stream";
}

TEST_F(LaunchTest, AFirstLaunchDuringACaptureAsksLeaveToLoad) {
  const Problem p = plain();
  const auto op = prepare(p);  // ready on device 0
  fake_.forget_calls();
  op.launch(operands(p, 1));
  const auto calls = fake_.calls();
  const auto at = [&](const char* call) { return std::find(calls.begin(), calls.end(), call); };
  EXPECT_LT(at("exchange_capture_mode"), at("kernel_get_function"));
  EXPECT_EQ(fake_.count("exchange_capture_mode"), 2) << "and puts the mode back";
}

TEST_F(LaunchTest, PreparingMakesTheNamedDeviceReady) {
  const Problem p = plain();
  const auto op = prepare(p, false, 1);
  EXPECT_EQ(fake_.smem_limits.size(), 1U);
  EXPECT_EQ(fake_.smem_limits[0].first, 1);
  EXPECT_EQ(fake_.current_device(), 0);
  EXPECT_EQ(test::refusal<ValueError>([&] { prepare(p, false, 9); }),
            "wgrad: device is 9; it must be from 0 to 2");
}

TEST_F(LaunchTest, ThreadsShareOneOperator) {
  const Problem p = plain();
  const auto op = prepare(p);
  std::vector<Operands> mine;
  mine.reserve(4);
  for (int t = 0; t < 4; ++t) mine.push_back(operands(p, t % 2));
  std::vector<std::jthread> threads;
  threads.reserve(mine.size());
  for (const Operands& o : mine) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) op.launch(o);
    });
  }
  threads.clear();
  ASSERT_EQ(fake_.launches.size(), 800U);
  for (const RecordedLaunch& launch : fake_.launches) {
    const auto& params = launch.params;
    EXPECT_EQ(params.map_a.opaque[0], params.a);
    EXPECT_EQ(params.map_b.opaque[0], params.b);
    EXPECT_EQ(params.map_out.opaque[0], params.wgrad);
  }
}

}  // namespace
}  // namespace wgrad::launch
