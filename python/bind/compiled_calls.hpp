// The operators that grouped_wgrad() keeps.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "compiled.hpp"

namespace wgrad::python {

/// Operators kept for later calls of grouped_wgrad(), by contract. Used under the GIL.
class CompiledCalls {
 public:
  /// Computes one call with the operator of its contract, compiled at its first use. Two threads
  /// that miss at once both compile, and the later operator stays.
  void run(const Tensors& tensors, const Options& options, OutputForm form,
           nanobind::handle stream);
  /// Compiles the operator of `request` where that was not done yet.
  void prepare(const Request& request);
  void run(Request& request);

  /// A fault in device data that one of them saw.
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  std::shared_ptr<const Compiled> find(const Call& call, const Options& options, OutputForm form);

  std::unordered_map<std::string, std::shared_ptr<const Compiled>> operators_;
};

}  // namespace wgrad::python
