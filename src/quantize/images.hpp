// The launches that one call of quantisation on a device is: what the compiler gets, parameters,
// grids. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/kernel_source.hpp"
#include "kernels/launch_image.hpp"
#include "wgrad/device_quantize.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/quantize/params.hpp"

namespace wgrad::quantize {

enum class Stage : std::uint8_t {
  kTable,  ///< where each expert begins
  kAmax,   ///< NVFP4: each expert's largest magnitude
  kCodes,
};

/// A kernel: of kTable there is one, with the default config.
struct KernelId {
  Stage stage = Stage::kTable;
  shared::QuantizeConfig config = {};

  bool operator==(const KernelId&) const = default;
};

kernels::KernelSource source(const KernelId& kernel);

struct Step {
  KernelId kernel;
  kernels::LaunchImage image;  ///< but for the address of the fault record
};

/// In the order of the stream; the operands go into one launch where one kernel serves both. The
/// call breaks no rule.
std::vector<Step> steps(const DeviceQuantization& call, const DeviceSpec& device);

/// Of one operand.
shared::QuantizeConfig config(const DeviceQuantization& call, const DeviceQuantizeOperand& operand);

}  // namespace wgrad::quantize
