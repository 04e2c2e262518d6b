// What only a GPU can show of a launch: graphs, streams, faults, devices. Skipped, with the reason,
// where there is no CUDA device that a kernel exists for.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "harness/memory/cuda_device.hpp"
#include "support/check.hpp"
#include "support/driver/cuda_stream.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::test {
namespace {

Case plain(std::vector<std::int64_t> counts, std::uint64_t seed = 1) {
  Case c;
  c.problem = problem_of(formats()[0], 256, 384);
  c.counts = std::move(counts);
  c.slack = 8;
  c.seed = seed;
  return c;
}

class GpuLaunch : public testing::Test {
 protected:
  void SetUp() override {
    const auto found = std::find_if(targets().begin(), targets().end(),
                                    [](const Target& t) { return t.backend == "cuda"; });
    if (found == targets().end()) GTEST_SKIP() << "no CUDA device of SM 9.0 on this machine";
    target_ = *found;
  }

  Executable prepared(const Case& c, bool validate = false) const {
    return prepare(problem(c), target_.device,
                   {.backend = "cuda", .validate_device_data = validate, .device = 0});
  }

  Target target_;
};

Bytes offset_bytes(const std::vector<std::int32_t>& offsets) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(offsets.data());
  return {bytes, bytes + offsets.size() * sizeof(std::int32_t)};
}

/// Offsets that may change between runs, unlike the instance's own.
struct ChangingOffsets {
  ChangingOffsets(Instance& instance, const Target& target, const std::vector<std::int32_t>& first)
      : buffer(target.memory, offset_bytes(first)) {
    instance.operands().offsets = static_cast<const std::int32_t*>(buffer.data());
  }
  void set(const std::vector<std::int32_t>& offsets) { buffer.upload(offset_bytes(offsets)); }

  Buffer buffer;
};

// F092, F093: a captured call sees new counts, and survives later calls of another size.
TEST_F(GpuLaunch, F092AReplaySeesNewCountsAfterALargerCall) {
  const CaseData data(plain({100, 28, 0, 72}));
  const Executable op = prepared(data.source);
  const CudaStream stream(0);
  Instance captured(data, target_.memory);
  ChangingOffsets offsets(captured, target_, {100, 128, 128, 200});
  captured.operands().stream = stream.handle();
  CudaGraph graph(0, stream);
  graph.begin_capture();
  op.run(captured.operands());
  graph.end_capture();

  const CaseData larger(plain({900, 0, 1200, 333}, 2));
  EXPECT_TRUE(conforms(target_, larger.source));

  for (const std::vector<std::int32_t>& counts :
       {std::vector<std::int32_t>{100, 128, 128, 200}, {0, 0, 77, 208}, {1, 65, 130, 131}}) {
    offsets.set(counts);
    captured.reset_output();
    graph.replay();
    stream.synchronize();
    const Bytes replayed = captured.output();
    captured.reset_output();
    op.run(captured.operands());
    stream.synchronize();
    EXPECT_TRUE(same_image(data, replayed, captured.output()));
  }
  offsets.set({100, 128, 128, 200});
  captured.reset_output();
  graph.replay();
  stream.synchronize();
  EXPECT_TRUE(same_image(data, captured.output(), oracle_output(data)));
}

TEST_F(GpuLaunch, ValidationRefusesACapture) {
  const CaseData data(plain({64, 64}));
  const Executable op = prepared(data.source, true);
  const CudaStream stream(0);
  Instance instance(data, target_.memory);
  instance.operands().stream = stream.handle();
  op.run(instance.operands());
  CudaGraph graph(0, stream);
  graph.begin_capture();
  EXPECT_THROW(op.run(instance.operands()), RuntimeError);
  graph.end_capture();
}

// F097: one operator on two streams from two threads. Every run has its own memory, so that a tile
// left out of any of them is seen.
TEST_F(GpuLaunch, F097TwoStreamsShareAnOperator) {
  const CaseData data[] = {CaseData(plain({100, 28, 0, 72}, 3)),
                           CaseData(plain({9, 64, 300, 1}, 4))};
  const Executable op = prepared(data[0].source);
  const CudaStream streams[] = {CudaStream(0), CudaStream(0)};
  std::vector<std::unique_ptr<Instance>> instances[2];
  for (int i = 0; i < 2; ++i) {
    for (int run = 0; run < 32; ++run) {
      instances[i].push_back(std::make_unique<Instance>(data[i], target_.memory));
      instances[i].back()->operands().stream = streams[i].handle();
    }
  }
  std::vector<std::jthread> threads;
  threads.reserve(2);
  for (const auto& of_thread : instances) {
    threads.emplace_back([&op, &of_thread] {
      for (const auto& instance : of_thread) op.run(instance->operands());
    });
  }
  threads.clear();
  for (int i = 0; i < 2; ++i) {
    streams[i].synchronize();
    const Bytes want = oracle_output(data[i]);
    for (const auto& instance : instances[i])
      ASSERT_TRUE(same_image(data[i], instance->output(), want));
  }
}

struct FaultyOffsets {
  std::vector<std::int32_t> offsets;
  std::string what;
  std::int64_t expert, value;
};

// Operands and outputs lie between unmapped pages, so that a foreign byte ends the process.
TEST_F(GpuLaunch, ReportsFaultyOffsetsWithoutASynchronisationOfItsOwn) {
  const std::vector<FaultyOffsets> faults = {{{64, 128, 5000}, "offset exceeds tokens", 2, 5000},
                                             {{64, 10, 192}, "offsets decrease", 1, 10},
                                             {{-7, 128, 192}, "offset is negative", 0, -7}};
  for (Case c : input_variants(formats()[0], 256, 384, {64, 64, 64})) {
    for (const bool accumulate : {false, true}) {
      c.problem.accumulate = accumulate;
      const CaseData data(c);
      const Executable op = prepared(c);
      Instance instance(data, target_.memory);
      ChangingOffsets offsets(instance, target_, {64, 128, 192});
      for (const FaultyOffsets& fault : faults) {
        offsets.set(fault.offsets);
        op.run(instance.operands());
        target_.memory->synchronize();
        ASSERT_TRUE(op.fault()) << describe(c) << fault.what;
        EXPECT_EQ(op.fault()->what, fault.what) << describe(c);
        EXPECT_EQ(op.fault()->expert, fault.expert);
        EXPECT_EQ(op.fault()->value, fault.value);
        if (fault.value == 5000) {
          EXPECT_EQ(op.fault()->limit, tokens(c));
        }
        op.clear_fault();
      }
      offsets.set({64, 128, 192});
      instance.reset_output();
      op.run(instance.operands());
      target_.memory->synchronize();
      EXPECT_FALSE(op.fault());
      EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data))) << describe(c);
    }
  }
}

// F095: operands on a device that is not current.
TEST_F(GpuLaunch, F095RunsOnTheOperandsDeviceAndLeavesTheCurrentOne) {
  if (cuda_device_count() < 2) GTEST_SKIP() << "one CUDA device only";
  const CaseData data(plain({64, 0, 33}));
  const Executable op = prepared(data.source);
  Instance instance(data, cuda_memory(1));
  set_current_cuda_device(0);
  op.run(instance.operands());  // the device is found by the address of offsets
  EXPECT_EQ(current_cuda_device(), 0);
  EXPECT_TRUE(same_image(data, instance.output(), oracle_output(data)));
}

}  // namespace
}  // namespace wgrad::test
