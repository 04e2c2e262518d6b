// Launches through the driver's path on a CPU: a fake driver encodes tensor maps as the emulated
// machine decodes them, and runs the emulated kernel with the parameters that it was passed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>

#include "emu/tensor_map.hpp"
#include "harness/instance.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "launch/driver_launch.hpp"
#include "launch/emulated_launch.hpp"
#include "launch/fake_driver.hpp"
#include "support/check.hpp"
#include "support/emulated_device.hpp"

namespace wgrad::launch {
namespace {

using test::Case;
using test::CaseData;
using test::Instance;

emu::Element element_of(int type) {
  return type == kCuFloat32   ? emu::Element::kFp32
         : type == kCuFloat16 ? emu::Element::kFp16
                              : emu::Element::kBf16;
}

shared::TensorMap machine_map(const RecordedMap& map) {
  emu::TensorMapFields fields;
  fields.base = map.address;
  fields.rank = static_cast<std::uint32_t>(map.dims.size());
  fields.element = element_of(map.type);
  std::copy(map.dims.begin(), map.dims.end(), fields.dims.begin());
  std::copy(map.strides.begin(), map.strides.end(), fields.strides.begin());
  std::copy(map.box.begin(), map.box.end(), fields.box.begin());
  fields.swizzle = map.swizzle == kCuSwizzle128B ? emu::Swizzle::k128 : emu::Swizzle::kNone;
  return emu::encode(fields);
}

/// One prepared operator whose launches the emulated machine runs.
class EmulatedDriver {
 public:
  explicit EmulatedDriver(const Problem& problem)
      : problem_(problem), plan_(kernels::plans("emu", problem, test::emulated_sm90()).at(0)) {
    fake_.make_current(0);
    fake_.encode = machine_map;
    fake_.run = [this](const RecordedLaunch& launch) { run(launch); };
    const kernels::KernelSource source = plan_.family->source(plan_);
    op_ = std::make_unique<DriverLaunch>(
        *runtime_, problem_, plan_,
        runtime_->load({"k", "ELF", source.entry, source.arch, source.shared_bytes}), false, 0);
  }

  void launch(Operands operands) {
    operands.device = 0;
    operands_ = operands;
    op_->launch(operands);
    if (!fault_.empty()) throw std::runtime_error(fault_);
  }

 private:
  void run(const RecordedLaunch& launch) {
    kernels::LaunchImage image = plan_.family->image(problem_, plan_, {});
    image.grid = launch.config.grid[0];
    image.cluster = launch.cluster;
    image.block = launch.config.block[0];
    image.shared_bytes = launch.config.shared_bytes;
    shared::KernelParams params = launch.params;
    shared::ClaimCounters claims{};
    if (params.claims != 0) params.claims = reinterpret_cast<std::uintptr_t>(&claims);
    image.set_parameters(params);
    emu::GlobalMemory memory;
    add_memory(memory, problem_, plan_, operands_);
    memory.add("fault record", reinterpret_cast<const void*>(params.fault),
               sizeof(shared::FaultRecord), emu::Permission::kReadWrite);
    memory.add("claims", &claims, sizeof claims, emu::Permission::kReadWrite);
    emu::Launch machine = machine_launch(plan_.family->emulated->kernel(plan_), image);
    machine.resident_ctas = image.grid;
    const emu::Outcome outcome = emu::run(machine, memory, {});
    if (outcome.fault) fault_ = outcome.fault->text();
  }

  Problem problem_;
  plan::Plan plan_;
  FakeDriver fake_;
  std::unique_ptr<Runtime> runtime_ = std::make_unique<Runtime>(fake_.api());
  std::unique_ptr<DriverLaunch> op_;
  Operands operands_;
  std::string fault_;
};

Case case_of(Major a, Major b, std::int64_t m = 136, std::int64_t n = 72) {
  Case c;
  c.problem.m = m;
  c.problem.n = n;
  c.problem.a_major = a;
  c.problem.b_major = b;
  c.counts = {130, 0, 65, 7};
  c.slack = 14;
  return c;
}

testing::AssertionResult right_through(EmulatedDriver& driver, const Case& c) {
  const CaseData data(c);
  Instance instance(data, test::host_device());
  driver.launch(instance.operands());
  return test::same_image(data, instance.output(), test::oracle_output(data));
}

using Kind = std::tuple<Major, Major, InputOrder, OutputMode, DType, bool>;
class DriverPath : public testing::TestWithParam<Kind> {};

/// Pitches, strides and extents of A, B and the output all differ.
TEST_P(DriverPath, EqualsTheOracle) {
  const auto& [a, b, order, mode, dtype, accumulate] = GetParam();
  Case c = case_of(a, b);
  c.problem.input_order = order;
  c.problem.output_mode = mode;
  c.problem.wgrad_dtype = dtype;
  c.problem.accumulate = accumulate;
  c.a_pad = 1;
  c.b_pad = 2;
  if (mode == OutputMode::kDense) {
    c.problem.wgrad_row_pitch = 96;
    c.problem.wgrad_expert_stride = 96 * 140;
  }
  const auto refused = kernels::limits(problem(c), test::emulated_sm90());
  if (!refused.empty()) {
    EXPECT_EQ(refused.front().rule, "emu-kernel") << "no kernel was compiled for this kind";
    return;
  }
  EmulatedDriver driver(problem(c));
  EXPECT_TRUE(right_through(driver, c));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, DriverPath,
    testing::Combine(testing::Values(Major::kK, Major::kMn), testing::Values(Major::kK, Major::kMn),
                     testing::Values(InputOrder::kTensor2d, InputOrder::kTensorRagged),
                     testing::Values(OutputMode::kDense, OutputMode::kDiscrete),
                     testing::Values(DType::kBf16, DType::kF32), testing::Bool()));

/// Room for A and B of a case, aligned as malloc() aligns.
struct Place {
  explicit Place(const CaseData& largest) : a(largest.a.bytes.size()), b(largest.b.bytes.size()) {}

  test::Bytes a, b;
};

/// Runs `data` with its A and B in `place`, which has room for them.
testing::AssertionResult right_in_place(EmulatedDriver& driver, const CaseData& data,
                                        Place& place) {
  Instance instance(data, test::host_device());
  Operands o = instance.operands();
  std::copy(data.a.bytes.begin(), data.a.bytes.end(), place.a.begin());
  std::copy(data.b.bytes.begin(), data.b.bytes.end(), place.b.begin());
  o.a = place.a.data();
  o.b = place.b.data();
  driver.launch(o);
  return test::same_image(data, instance.output(), test::oracle_output(data));
}

/// Calls of one operator that differ in one field, in buffers that stay where they are: what a memo
/// forgot would make the second one wrong.
TEST(DriverMemo, NewTokensInTheSameBuffers) {
  for (const Major a : {Major::kK, Major::kMn}) {
    for (const Major b : {Major::kK, Major::kMn}) {
      Case few = case_of(a, b);
      few.counts = {60, 20, 8, 0};
      const CaseData more(case_of(a, b)), fewer(few);
      Place place(more);
      EmulatedDriver driver(problem(more.source));
      for (const CaseData* data : {&fewer, &more, &fewer})
        EXPECT_TRUE(right_in_place(driver, *data, place)) << test::describe(data->source);
    }
  }
}

TEST(DriverMemo, NewLeadingDimensionsInTheSameBuffers) {
  for (const Major major : {Major::kK, Major::kMn}) {
    for (const auto pad : {&Case::a_pad, &Case::b_pad}) {
      Case wide = case_of(major, major);
      const CaseData narrow(wide);
      wide.*pad = 4;
      const CaseData other(wide);
      Place place(other);
      EmulatedDriver driver(problem(wide));
      for (const CaseData* data : {&narrow, &other, &narrow})
        EXPECT_TRUE(right_in_place(driver, *data, place)) << test::describe(data->source);
    }
  }
}

TEST(DriverMemo, NewAddresses) {
  const CaseData data(case_of(Major::kK, Major::kMn));
  EmulatedDriver driver(problem(data.source));
  Place first(data), second(data);
  EXPECT_TRUE(right_in_place(driver, data, first));
  std::fill(first.a.begin(), first.a.end(), std::uint8_t{0});
  std::fill(first.b.begin(), first.b.end(), std::uint8_t{0});
  EXPECT_TRUE(right_in_place(driver, data, second));
}

}  // namespace
}  // namespace wgrad::launch
