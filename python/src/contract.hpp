// What stays the same from call to call, and what is compiled for it.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

#include "call.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::python {

/// The tensors of one Python call, as objects; None where absent.
struct Tensors {
  nanobind::handle a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
      workspace;
};

/// The static side of a call: a key, and all that prepare() needs.
struct Contract {
  Problem problem;
  Place place;
  Options options;
  OutputForm form = OutputForm::kStacked;

  /// Equal for calls that one compiled operator serves: T, offsets, addresses and streams differ.
  std::string key() const;
};

Contract describe(Api api, const Tensors& tensors, const Options& options, OutputForm form);

/// A contract with its executable.
class Compiled {
 public:
  explicit Compiled(Contract contract);

  /// Computes one call. Throws for tensors that break the contract, in the words of `api`.
  void run(Api api, const Tensors& tensors, nanobind::handle stream) const;

  const Contract& contract() const noexcept { return contract_; }
  const Executable& executable() const noexcept { return executable_; }

 private:
  Contract contract_;
  Executable executable_;
};

}  // namespace wgrad::python
