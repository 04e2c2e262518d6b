// The prepared operators of this process: made when XLA instantiates a custom call, found when it
// executes one.
#pragma once

#include <xla/ffi/api/ffi.h>

#include <map>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <utility>

#include "attributes.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::jax {

/// Which device: an ordinal of CUDA's, or the CPU.
struct Place {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = -1;  ///< -1 on a CPU

  bool operator<(const Place& other) const noexcept {
    return std::pair(kind, ordinal) < std::pair(other.kind, other.ordinal);
  }
};

/// Thread-safe. A state of XLA's own would tie the extension to one version of jaxlib: the layout
/// of the calls that set and get it changed between API versions 0.1 and 0.3.
class Operators {
 public:
  /// The operator that `attributes` state, on `place`; prepared where it is not kept yet. Throws
  /// what prepare() throws.
  Executable get(const xla::ffi::Dictionary& attributes, Place place);

  /// The first fault in device data that a kept operator met.
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;
  /// Forgets all operators. Compiled programs that need one prepare it anew.
  void clear();

 private:
  using ByKey = std::map<std::string, Executable, std::less<>>;

  mutable std::shared_mutex mutex_;
  std::map<Place, ByKey> kept_;
};

Operators& operators();

}  // namespace wgrad::jax
