#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "call/statement.hpp"
#include "request.hpp"
#include "states.hpp"
#include "unlocked.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Api;
using call::in_words_of;
using call::Options;
using call::OutputForm;
using call::translate;
namespace {

/// An operator, and how its later calls are read.
struct Compiled {
  Described described;
  std::shared_ptr<const call::Operator> op;
};

/// Threads may compile side by side.
Compiled compile(const Described& described, Api api, int candidate) {
  const auto made = [&] {
    const Unlocked unlocked;
    return std::make_shared<const call::Operator>(described.contract, candidate);
  };
  return in_words_of(api, [&] { return Compiled{described, made()}; });
}

void run(const Compiled& self, const nb::dict& given, Api api) {
  const bool pointers = self.described.form == OutputForm::kPointers;
  Request(api, self.described.options, given, pointers, true, &self.op->contract().problem)
      .run(*self.op);
}

nb::tuple wgrad_shape(const Problem& p) {
  return nb::make_tuple(p.experts, p.m, p.n);
}

nb::bytes as_bytes(const std::string& key) {
  return nb::bytes(key.data(), key.size());
}

/// By name, for whom the problem alone is too little.
nb::dict by_name(const call::Contract& contract) {
  nb::dict values;
  for (const auto& [name, value] : call::values_of(contract)) {
    const nb::str key(name.data(), name.size());
    std::visit([&](const auto& held) { values[key] = held; }, value);
  }
  return values;
}

nb::list other_keys_of(const Request& request) {
  nb::list keys;
  for (const std::string& key : call::other_keys(request.call())) keys.append(as_bytes(key));
  return keys;
}

Support support_of(const Described& self, Api api, const DeviceSpec* device) {
  const call::Contract& contract = self.contract;
  return in_words_of(api, [&]() -> Support {
    const DeviceSpec spec = call::device_of(contract, device);
    const std::string& backend = contract.preparation.backend;
    return {translate(api, check_support(contract.problem, spec, backend, self.lds).reasons)};
  });
}

Explanation explanation_of(const Described& self, Api api, const DeviceSpec* device) {
  Explanation out = explain(self.contract.problem, call::device_of(self.contract, device));
  for (Candidate& c : out.candidates) c.reasons = translate(api, std::move(c.reasons));
  return out;
}

void bind_contract(nb::module_& module) {
  auto contract =
      nb::class_<Described>(module, "Contract", "What stays the same from call to call.")
          .def_prop_ro(
              "key", [](const Described& d) { return as_bytes(call::key_of(d.contract)); },
              "equal for calls that one compiled operator serves")
          .def_prop_ro(
              "problem", [](const Described& d) { return d.contract.problem; },
              "the Problem, with this call's T")
          .def_prop_ro(
              "values", [](const Described& d) { return by_name(d.contract); },
              "problem and preparation, field by field: bool, int or str")
          .def_prop_ro(
              "wgrad_shape", [](const Described& d) { return wgrad_shape(d.contract.problem); },
              "(E, M, N)")
          .def_prop_ro(
              "wgrad_dtype",
              [](const Described& d) { return name(d.contract.problem.wgrad_dtype); },
              "dtype name of the output")
          .def_prop_ro(
              "device", [](const Described& d) { return to_string(d.contract.place); },
              "'cpu' or 'cuda:<ordinal>'")
          .def("support", support_of, nb::arg("api"), nb::arg("device") = nb::none(),
               "Whether it can run on `device` (None: where the tensors are), in the words of "
               "`api`.")
          .def("explain", explanation_of, nb::arg("api"), nb::arg("device") = nb::none(),
               "What the planner would do on `device`, in the words of `api`.")
          .def(
              "require_support",
              [](const Described& d, Api api) {
                throw_if_unsupported(support_of(d, api, nullptr));
              },
              nb::arg("api"), "Raises ValueError or RuntimeError where it cannot run.")
          .def("compile", compile, nb::arg("api"), nb::arg("candidate") = 0,
               "Plans and builds; `candidate` counts explain()'s usable ones of the backend.");
  make_picklable(contract);
}

void bind_request(nb::module_& module) {
  nb::class_<Request>(module, "Call", "The tensors of one call, read once.")
      .def(nb::init<Api, const Options&, const nb::dict&, std::optional<bool>, bool>(),
           nb::arg("api"), nb::arg("options"), nb::arg("given"), nb::arg("pointers") = nb::none(),
           nb::arg("holds_data") = true,
           "given: arguments by the names that the functions of `api` have for them; what is not "
           "there is None. pointers: whether the results go through addresses; None: where some "
           "are given. holds_data: whether values of the tensors may be judged.\n\nRaises "
           "ValueError for tensors that do not fit together, and for no "
           "stream.")
      .def_prop_ro(
          "key", [](const Request& r) { return as_bytes(call::key_of(r.call())); },
          "equal for calls that one compiled operator serves")
      .def_prop_ro(
          "other_keys", other_keys_of,
          "keys of operators of other majors that serve it too: of no token, or one of FP8")
      .def_prop_ro(
          "wgrad_shape", [](const Request& r) { return wgrad_shape(r.call().problem); },
          "(E, M, N)")
      .def_prop_ro(
          "wgrad_dtype", [](const Request& r) { return name(r.call().problem.wgrad_dtype); },
          "dtype name of the output")
      .def_prop_ro(
          "device", [](const Request& r) { return to_string(r.call().place); },
          "'cpu' or 'cuda:<ordinal>'")
      .def_prop_ro(
          "pointers", [](const Request& r) { return r.form() == OutputForm::kPointers; },
          "whether the results go through addresses")
      .def("require_support", &Request::require_support,
           "Raises ValueError or RuntimeError, with every reason that can be seen.")
      .def("contract", &Request::described, "What stays the same from call to call.")
      .def("give_output", &Request::give_output, nb::arg("wgrad"),
           "Adds the (E, M, N) output of a call that came without one.");
}

void bind_compiled(nb::module_& module) {
  nb::class_<DeviceFault>(module, "DeviceFault", "A fault in device data that a run met.")
      .def_ro("what", &DeviceFault::what, "what is wrong")
      .def_ro("expert", &DeviceFault::expert, "the expert concerned")
      .def_ro("value", &DeviceFault::value, "the offending offset or address")
      .def_ro("limit", &DeviceFault::limit, "the bound it broke; 0 where there is none");
  nb::class_<Compiled>(module, "Operator", "A contract with its executable.")
      .def("run", run, nb::arg("given"), nb::arg("api") = Api::kCall,
           "Computes a call of the arguments of a function, by default of execute().")
      .def(
          "run_call", [](const Compiled& c, Request& request) { request.run(*c.op); },
          nb::arg("call"), "Computes a call that was read before.")
      .def(
          "fault", [](const Compiled& c) { return c.op->fault(); },
          "The first DeviceFault since compilation or clear_fault(), or None.")
      .def(
          "clear_fault", [](const Compiled& c) { c.op->clear_fault(); }, "Forgets the fault seen.")
      .def_prop_ro(
          "backend", [](const Compiled& c) { return c.op->backend(); }, "name of the backend")
      .def_prop_ro(
          "plan", [](const Compiled& c) { return c.op->plan(); }, "the plan in one line");
}

void bind_calls(nb::module_& module) {
  nb::class_<call::OperatorCache>(module, "Operators", "The operators that grouped_wgrad keeps.")
      .def(nb::init<>())
      .def(
          "run",
          [](call::OperatorCache& c, const Options& options, const nb::dict& given) {
            Request(Api::kNatural, options, given).run(c);
          },
          nb::arg("options"), nb::arg("given"),
          "Computes a call of the arguments of grouped_wgrad() with the operator of its contract, "
          "compiled at its first use.")
      .def(
          "prepare",
          [](call::OperatorCache& c, const Request& request) {
            in_words_of(request.api(), [&] { c.get(request.call()); });
          },
          nb::arg("call"), "Compiles the operator of a call where that was not done yet.")
      .def(
          "run_call", [](call::OperatorCache& c, Request& request) { request.run(c); },
          nb::arg("call"), "Computes a call that was read before.")
      .def("fault", &call::OperatorCache::fault, "A DeviceFault that one of them saw, or None.")
      .def("clear_fault", &call::OperatorCache::clear_fault, "Forgets the faults seen.");
}

}  // namespace

void bind_call(nb::module_& module) {
  bind_contract(module);
  bind_request(module);
  bind_compiled(module);
  bind_calls(module);
  module.def("workspace_bytes", call::workspace_bytes, nb::arg("experts"), nb::arg("pointers"),
             "Bytes of a descriptor_workspace, for an output through addresses or in one tensor.");
}

}  // namespace wgrad::python
