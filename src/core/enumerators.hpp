// Which values of the public enumerations have a name: a cast makes others.
#pragma once

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad::core {

/// The last enumerator; all enumerations begin at 0 and have no gaps.
constexpr DType last_of(DType) noexcept {
  return DType::kE8m0;
}
constexpr Major last_of(Major) noexcept {
  return Major::kMn;
}
constexpr InputOrder last_of(InputOrder) noexcept {
  return InputOrder::kTensorRagged;
}
constexpr OutputMode last_of(OutputMode) noexcept {
  return OutputMode::kDiscrete;
}
constexpr ScaleLayout last_of(ScaleLayout) noexcept {
  return ScaleLayout::kCompact;
}
constexpr Format last_of(Format) noexcept {
  return Format::kFp8Blocks;
}
constexpr ScalingMode last_of(ScalingMode) noexcept {
  return ScalingMode::kRceil;
}
constexpr DeviceKind last_of(DeviceKind) noexcept {
  return DeviceKind::kEmulated;
}

/// Calls refuse(field, value, last) with both numbers where `value` has no name.
template <typename Enum, typename Refuse>
void check_enumerator(const char* field, Enum value, const Refuse& refuse) {
  if (value > last_of(value)) {
    refuse(field, static_cast<int>(value), static_cast<int>(last_of(value)));
  }
}

}  // namespace wgrad::core
