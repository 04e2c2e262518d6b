// What stays the same from call to call, and what is compiled for it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <unordered_map>

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
  /// Where it will run, with no more multiprocessors than its options allow. Throws ValueError for
  /// a limit where there are none.
  DeviceSpec device() const;
};

Contract describe(Api api, const Tensors& tensors, const Options& options, OutputForm form);

/// A contract with its executable.
class Compiled {
 public:
  explicit Compiled(Contract contract);

  /// Computes one call. Throws for tensors that break the contract, in the words of `api`.
  void run(Api api, const Tensors& tensors, nanobind::handle stream) const;

  /// Computes a call that is known to keep the contract.
  void run(const Arguments& in, Call& call, nanobind::handle stream) const;

  const Contract& contract() const noexcept { return contract_; }
  const Executable& executable() const noexcept { return executable_; }

 private:
  Contract contract_;
  Executable executable_;
};

/// Operators kept for later calls of grouped_wgrad(), by contract. Used under the GIL.
class CompiledCalls {
 public:
  /// Computes one call with the operator of its contract, compiled at its first use. Two threads
  /// that miss at once both compile, and the later operator stays.
  void run(const Tensors& tensors, const Options& options, OutputForm form,
           nanobind::handle stream);
  /// The operator of a call whose output is still to be made.
  std::shared_ptr<const Compiled> find(const Tensors& tensors, const Options& options);

 private:
  std::shared_ptr<const Compiled> find(const Call& call, const Options& options, OutputForm form);

  std::unordered_map<std::string, std::shared_ptr<const Compiled>> operators_;
};

}  // namespace wgrad::python
