// A contract compiled, and what runs it.
#pragma once

#include <nanobind/nanobind.h>

#include "arguments.hpp"
#include "contract.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::python {

class Request;

/// A contract with its executable.
class Compiled {
 public:
  explicit Compiled(Contract contract);

  /// Computes one call. Throws for tensors that break the contract, in the words of `api`.
  void run(Api api, const Tensors& tensors, nanobind::handle stream) const;

  /// The same, of tensors that were read before.
  void run(Request& request) const;

  /// Computes a call that is known to keep the contract, on the stream of its operands.
  void run(const Arguments& in, Call& call) const;

  const Contract& contract() const noexcept { return contract_; }
  const Executable& executable() const noexcept { return executable_; }

 private:
  void check(const Arguments& in, Call& call) const;

  Contract contract_;
  Executable executable_;
};

}  // namespace wgrad::python
