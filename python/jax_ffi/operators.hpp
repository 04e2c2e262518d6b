// The prepared operators of this process: made when XLA instantiates a custom call, found when it
// executes one.
#pragma once

#include <xla/ffi/api/ffi.h>

#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>

#include "call/operator.hpp"

namespace wgrad::jax {

/// Thread-safe. A state of XLA's own would tie the extension to one version of jaxlib: the layout
/// of the calls that set and get it changed between API versions 0.1 and 0.3.
class Operators {
 public:
  using Kept = std::shared_ptr<const call::Operator>;

  /// The operator that `attributes` state, on `place`; prepared where it is not kept yet. Throws
  /// what its constructor does.
  Kept get(const xla::ffi::Dictionary& attributes, const call::Place& place);

  /// The first fault in device data that a kept operator met.
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;
  /// Forgets all operators. Compiled programs that need one prepare it anew.
  void clear();

 private:
  using ByKey = std::map<std::string, Kept, std::less<>>;
  using ByOrdinal = std::map<int, ByKey>;  // -1: the CPU

  mutable std::shared_mutex mutex_;
  ByOrdinal kept_;
};

Operators& operators();

}  // namespace wgrad::jax
