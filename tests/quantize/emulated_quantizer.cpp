#include "quantize/emulated_quantizer.hpp"

#include <algorithm>
#include <stdexcept>

#include "emu/machine.hpp"
#include "emu/memory/global_memory.hpp"
#include "quantize/emulated_kernels.hpp"

namespace wgrad::quantize {
namespace {

void (*kernel_of(const KernelId& id))(const void*) {
  const auto& all = emulated_kernels();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const EmulatedKernel& k) { return k.id == id; });
  return found == all.end() ? nullptr : found->run;
}

}  // namespace

EmulatedQuantizer::EmulatedQuantizer(std::uint64_t seed) : seed_(seed) {
  fake_.make_current(0);
  fake_.run = [this](const launch::RecordedLaunch& launch) { emulate(launch); };
  runtime_ = std::make_unique<launch::Runtime>(fake_.api());
  quantizer_ = std::make_unique<DeviceQuantizer>(*runtime_, [this](const kernels::KernelSource&
                                                                       source) {
    return runtime_->load({source.digest(), "ELF", source.entry, source.arch, source.shared_bytes});
  });
}

void EmulatedQuantizer::run(const DeviceQuantization& call, const std::vector<Region>& memory,
                            bool validate) {
  memory_ = &memory;
  next_ = 0;
  fault_.clear();
  expected_.clear();
  DeviceSpec spec = runtime_->device_spec(0);
  if (!call.operands.empty()) expected_ = steps(call, spec);
  quantizer_->run(call, validate);
  if (fault_.empty() && next_ != expected_.size()) fault_ = "a launch is missing";
  if (!fault_.empty()) throw std::runtime_error(fault_);
}

void EmulatedQuantizer::emulate(const launch::RecordedLaunch& launch) {
  if (!fault_.empty()) return;
  const Step& step = expected_.at(next_++);
  const auto kernel = kernel_of(step.kernel);
  if (kernel == nullptr) {
    fault_ = "no emulated kernel of\n" + source(step.kernel).text;
    return;
  }
  kernels::LaunchImage image = step.image;
  shared::QuantizeParams params = {};
  std::memcpy(&params, &launch.params, sizeof params);
  image.set_parameters(params);
  emu::GlobalMemory memory;
  for (const Region& region : *memory_) {
    memory.add(region.name, region.data, region.bytes,
               region.writable ? emu::Permission::kReadWrite : emu::Permission::kRead);
  }
  memory.add("fault record", reinterpret_cast<const void*>(params.fault),
             sizeof(shared::FaultRecord), emu::Permission::kReadWrite);
  emu::Launch machine;
  machine.kernel = [&] { kernel(image.parameters.data()); };
  // Few CTAs, so that each takes several units.
  machine.ctas = std::min<std::uint32_t>(launch.config.grid[0], 3);
  machine.resident_ctas = machine.ctas;
  machine.threads = launch.config.block[0];
  machine.shared_bytes = launch.config.shared_bytes;
  machine.registers = 128;
  const emu::Outcome outcome = emu::run(machine, memory, {.seed = seed_++});
  if (outcome.fault) fault_ = outcome.fault->text();
}

}  // namespace wgrad::quantize
