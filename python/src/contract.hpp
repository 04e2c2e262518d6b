// What stays the same from call to call, and what is compiled for it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "call.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/support.hpp"

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
  LeadingDimensions lds{};  ///< of the tensors it was read from

  /// Equal for calls that one compiled operator serves: T, offsets, addresses and streams differ.
  std::string key() const;
  /// Where it will run, with no more multiprocessors than its options allow. Throws ValueError for
  /// a limit where there are none.
  DeviceSpec device(const DeviceSpec* by_hand = nullptr) const;
};

/// A Contract's key.
std::string key_of(const Problem& problem, const Place& place, const Options& options);

/// Keys of operators that serve `call` as well: those of the other majors, where it leaves them
/// open.
std::vector<std::string> other_keys(const Call& call, const Options& options);

/// Reads every tensor of a call. Throws ValueError for what is none.
Arguments read_arguments(Api api, const Tensors& tensors);

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
