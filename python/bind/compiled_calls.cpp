#include "compiled_calls.hpp"

#include <utility>

#include "request.hpp"
#include "stream.hpp"

namespace wgrad::python {
namespace nb = nanobind;

std::shared_ptr<const Compiled> CompiledCalls::find(const Call& call, const Options& options,
                                                    OutputForm form) {
  std::string key = key_of(call.problem, call.place, options);
  if (const auto found = operators_.find(key); found != operators_.end()) return found->second;
  for (const std::string& other : other_keys(call, options)) {
    if (const auto found = operators_.find(other); found != operators_.end()) return found->second;
  }
  auto made = std::make_shared<const Compiled>(Contract{call.problem, call.place, options, form});
  operators_[std::move(key)] = made;
  return made;
}

void CompiledCalls::prepare(const Request& request) {
  in_words_of(request.api(), [&] { find(request.call(), request.options(), request.form()); });
}

void CompiledCalls::run(Request& request) {
  in_words_of(request.api(),
              [&] { find(request.call(), request.options(), request.form())->run(request); });
}

void CompiledCalls::run(const Tensors& tensors, const Options& options, OutputForm form,
                        nb::handle stream) {
  in_words_of(Api::kNatural, [&] {
    const Arguments in = read_arguments(Api::kNatural, tensors);
    need_output(form, in);
    check_grad(in);
    Call call = read_call(in, options, form, Api::kNatural);
    call.operands.stream = stream_handle(stream, in.a);
    // Kept alive: the GIL is released while it runs.
    const std::shared_ptr<const Compiled> compiled = find(call, options, form);
    compiled->run(in, call);
  });
}

std::optional<DeviceFault> CompiledCalls::fault() const {
  for (const auto& [key, compiled] : operators_) {
    if (auto seen = compiled->fault()) return seen;
  }
  return std::nullopt;
}

void CompiledCalls::clear_fault() const {
  for (const auto& [key, compiled] : operators_) compiled->clear_fault();
}

}  // namespace wgrad::python
