// The tensors of one call, read once, whoever then asks what they need or has them computed.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <memory>
#include <string>

#include "arguments.hpp"
#include "contract.hpp"

namespace wgrad::python {

class Request {
 public:
  /// `stream`: None or a stream of any kind; a null handle where nothing will be run. Throws
  /// ValueError, in the words of `api`, for what does not fit together.
  Request(Api api, const Tensors& tensors, Options options, OutputForm form,
          nanobind::handle stream = {});

  Api api() const noexcept { return api_; }
  OutputForm form() const noexcept { return form_; }
  const Options& options() const noexcept { return options_; }
  const Arguments& arguments() const noexcept { return arguments_; }
  const Call& call() const noexcept { return call_; }
  Call& call() noexcept { return call_; }

  std::string key() const { return key_of(call_.problem, call_.place, options_); }
  std::vector<std::string> other_keys() const { return python::other_keys(call_, options_); }
  Contract contract() const {
    const Operands& o = call_.operands;
    const bool strides_open = form_ == OutputForm::kStacked && !arguments_.wgrad;
    return {call_.problem, call_.place, options_, form_, {o.a_ld, o.b_ld}, strides_open};
  }

  /// Adds the (E, M, N) output of a call that came without one.
  void give_output(nanobind::handle wgrad);

 private:
  Api api_;
  OutputForm form_;
  Options options_;
  std::array<nanobind::object, 11> kept_;  // what arguments_ points into
  Arguments arguments_;
  Call call_;
};

}  // namespace wgrad::python
