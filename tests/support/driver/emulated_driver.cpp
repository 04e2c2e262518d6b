#include "support/driver/emulated_driver.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "emu/memory/tensor_map.hpp"
#include "kernels/family.hpp"
#include "kernels/search.hpp"
#include "launch/emulated_launch.hpp"
#include "support/planned/emulated_device.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::test {
namespace {

emu::Element element_of(int type) {
  switch (type) {
    case launch::kCuFloat32:
      return emu::Element::kFp32;
    case launch::kCuFloat16:
      return emu::Element::kFp16;
    case launch::kCuUint8:
      return emu::Element::kByte;
    default:
      return emu::Element::kBf16;
  }
}

shared::TensorMap machine_map(const launch::RecordedMap& map) {
  emu::TensorMapFields fields;
  fields.base = map.address;
  fields.rank = static_cast<std::uint32_t>(map.dims.size());
  fields.element = element_of(map.type);
  std::copy(map.dims.begin(), map.dims.end(), fields.dims.begin());
  std::copy(map.strides.begin(), map.strides.end(), fields.strides.begin());
  std::copy(map.box.begin(), map.box.end(), fields.box.begin());
  fields.swizzle = map.swizzle == launch::kCuSwizzle128B ? emu::Swizzle::k128 : emu::Swizzle::kNone;
  return emu::encode(fields);
}

plan::Plan plan_number(const Problem& problem, std::size_t number) {
  const auto plans = kernels::plans("emu", problem, emulated_sm90());
  if (number >= plans.size())
    throw RuntimeError("wgrad: the emulator has not as many kernels for this problem");
  return plans[number];
}

std::uint64_t address_at(const kernels::LaunchImage& image, std::uint32_t at) {
  std::uint64_t address = 0;
  if (at != kernels::LaunchImage::kNowhere)
    std::memcpy(&address, &image.parameters[at], sizeof address);
  return address;
}

}  // namespace

EmulatedDriver::EmulatedDriver(const Problem& problem, std::size_t plan)
    : problem_(problem), plan_(plan_number(problem, plan)) {
  fake_.make_current(0);
  fake_.encode = machine_map;
  fake_.run = [this](const launch::RecordedLaunch& recorded) { run(recorded); };
  const kernels::KernelSource source = plan_.family->source(plan_);
  op_ = std::make_unique<launch::DriverLaunch>(
      *runtime_, problem_, plan_,
      runtime_->load({"k", "ELF", source.entry, source.arch, source.shared_bytes}), false, 0);
}

void EmulatedDriver::launch(Operands operands) {
  operands.device = 0;
  operands_ = operands;
  fault_.clear();
  op_->launch(operands);
  if (!fault_.empty()) throw RuntimeError(fault_);
}

/// Of the family's image it takes places and sizes alone: what the kernel sees is what the driver
/// was given.
void EmulatedDriver::run(const launch::RecordedLaunch& recorded) {
  kernels::LaunchImage image = plan_.family->image(problem_, plan_, {});
  image.grid = recorded.config.grid[0];
  image.cluster = recorded.cluster;
  image.block = recorded.config.block[0];
  image.shared_bytes = recorded.config.shared_bytes;
  std::memcpy(image.parameters.data(), recorded.parameters, image.parameter_bytes);
  shared::ClaimCounters claims{};
  if (address_at(image, image.claims_at) != 0)
    image.put_address(image.claims_at, reinterpret_cast<std::uintptr_t>(&claims));
  emu::GlobalMemory memory;
  launch::add_memory(memory, problem_, plan_, operands_);
  memory.add("fault record", reinterpret_cast<const void*>(address_at(image, image.fault_at)),
             sizeof(shared::FaultRecord), emu::Permission::kReadWrite);
  memory.add("claims", &claims, sizeof claims, emu::Permission::kReadWrite);
  emu::Launch machine = launch::machine_launch(plan_.family->emulated()->kernel(plan_), image);
  machine.regions = plan_.family->emulated()->shared_regions(plan_);
  machine.resident_ctas = image.grid;
  const emu::Outcome outcome = emu::run(machine, memory, {.seed = ++seed_});
  if (outcome.fault) fault_ = outcome.fault->text();
  if (claims.claimed != 0 || claims.left != 0) fault_ += "the claim counters are left uncleared";
}

}  // namespace wgrad::test
