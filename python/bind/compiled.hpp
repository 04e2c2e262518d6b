// A contract compiled, and what runs it.
#pragma once

#include <nanobind/nanobind.h>

#include <map>
#include <optional>
#include <utility>

#include "arguments.hpp"
#include "contract.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::python {

class Request;

/// A contract with its executable.
class Compiled {
 public:
  /// `candidate`: which of the planner's, best first.
  explicit Compiled(Contract contract, int candidate = 0);

  /// Computes one call. Throws for tensors that break the contract, in the words of `api`.
  void run(Api api, const Tensors& tensors, nanobind::handle stream) const;

  /// The same, of tensors that were read before.
  void run(Request& request) const;

  /// Computes a call that is known to keep the contract, on the stream of its operands.
  void run(const Arguments& in, Call& call) const;

  const Contract& contract() const noexcept { return contract_; }
  /// Of the contract's own output strides.
  const Executable& executable() const noexcept { return executable_; }

  /// The first fault in device data that any call met since the last clear_fault().
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  void check(const Arguments& in, Call& call) const;
  bool keeps_contract(const Problem& call) const;
  const Executable& executable_for(const Problem& call) const;

  Contract contract_;
  Executable executable_;
  /// By the output's row pitch and expert stride, where the contract leaves them open. Guarded by
  /// the GIL; none is ever taken out.
  mutable std::map<std::pair<std::int64_t, std::int64_t>, Executable> others_;
};

}  // namespace wgrad::python
