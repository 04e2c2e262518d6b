// The tensors of one call, read once, whoever then asks what they need or has them computed.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>

#include "arguments.hpp"
#include "call/operator.hpp"

namespace wgrad::python {

/// What stays the same from call to call, and what later calls need to be read alike.
struct Described {
  call::Contract contract;
  call::Options options;
  call::OutputForm form = call::OutputForm::kStacked;
  LeadingDimensions lds{};  ///< of the tensors it was read from
};

class Request {
 public:
  /// Of the arguments of a function. `pointers`: whether the results go through addresses; nullopt:
  /// where addresses, or a list of outputs, are given. `holds_data`: as call::Reading. `compiled`:
  /// of the operator that shall run it. Throws ValueError, in the words of `api`, for what does not
  /// fit together.
  Request(call::Api api, call::Options options, const nanobind::dict& given,
          std::optional<bool> pointers = {}, bool holds_data = true,
          const Problem* compiled = nullptr);

  call::Api api() const noexcept { return api_; }
  call::OutputForm form() const noexcept { return form_; }
  const call::Call& call() const noexcept { return call_; }
  Described described() const;
  /// Refuses it, with every reason that can be seen, where no backend runs it.
  void require_support() const;

  /// Adds the (E, M, N) output of a call that came without one.
  void give_output(nanobind::handle wgrad);

  /// Computes it, on its stream, with `op`. Throws for a call that breaks its contract.
  void run(const call::Operator& op);
  /// Computes it with the operator of its contract, made at its first use.
  void run(call::OperatorCache& operators);

 private:
  void check_arguments() const;
  void launch(const call::Operator& op);
  nanobind::object give_workspace(std::int64_t bytes);

  call::Api api_;
  call::Options options_;
  Objects objects_;  // what arguments_ points into
  call::OutputForm form_;
  Arguments arguments_;
  call::Call call_;
};

}  // namespace wgrad::python
