#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "call/spelling.hpp"
#include "request.hpp"
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

using Text = std::string_view;
using Pair = std::pair<int, int>;
using H = nb::handle;

void init_options(Options* self, Pair mma_tiler_mn, std::optional<Pair> cluster_shape_mn,
                  std::optional<int> sf_vec_size, Text scale_layout, Text input_order,
                  bool accumulate, std::optional<Text> wgrad_dtype, std::optional<Text> acc_dtype,
                  const std::string& sf_fp8_dtype_override, const std::string& backend,
                  bool validate_device_data, int sm_limit) {
  Options o;
  o.tiling = {mma_tiler_mn.first, mma_tiler_mn.second, 0, 0};
  if (cluster_shape_mn) {
    o.tiling.cluster_m = cluster_shape_mn->first;
    o.tiling.cluster_n = cluster_shape_mn->second;
  }
  o.sf_vec_size = sf_vec_size;
  o.scale_layout = call::scale_layout_named(scale_layout);
  o.input_order = call::input_order_named(input_order);
  o.accumulate = accumulate;
  if (wgrad_dtype) o.wgrad_dtype = call::dtype_named(*wgrad_dtype, "wgrad_dtype");
  if (acc_dtype) o.acc_dtype = call::dtype_named(*acc_dtype, "acc_dtype");
  o.sf_fp8_dtype_override = sf_fp8_dtype_override;
  o.preparation = {backend, validate_device_data, sm_limit};
  new (self) Options(std::move(o));
}

OutputForm form_of(bool pointers) {
  return pointers ? OutputForm::kPointers : OutputForm::kStacked;
}

/// An operator, and how its later calls are read.
struct Compiled {
  Described described;
  std::shared_ptr<const call::Operator> op;
};

/// Threads may compile side by side.
Compiled compile(const Described& d, Api api, int candidate) {
  const auto made = [&] {
    const Unlocked unlocked;
    return std::make_shared<const call::Operator>(d.contract, candidate);
  };
  return in_words_of(api, [&] { return Compiled{d, made()}; });
}

Described describe_call(Api api, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
                        H global_scale_a, H global_scale_b, const Options& options, bool pointers) {
  return Request(api,
                 {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
                  nb::handle(Py_None)},
                 options, form_of(pointers))
      .described();
}

void init_request(Request* self, Api api, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
                  H global_scale_a, H global_scale_b, H workspace, const Options& options,
                  bool pointers, H stream) {
  new (self) Request(
      api, {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b, workspace},
      options, form_of(pointers), stream);
}

void run(const Compiled& self, Api api, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
         H global_scale_a, H global_scale_b, H stream, H workspace) {
  Request(api,
          {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b, workspace},
          self.described.options, self.described.form, stream, &self.op->contract().problem)
      .run(*self.op);
}

void run_call(call::OperatorCache& self, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
              H global_scale_a, H global_scale_b, const Options& options, bool pointers, H stream,
              H workspace) {
  Request(Api::kNatural,
          {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b, workspace},
          options, form_of(pointers), stream)
      .run(self);
}

nb::tuple wgrad_shape(const Problem& p) {
  return nb::make_tuple(p.experts, p.m, p.n);
}

nb::bytes as_bytes(const std::string& key) {
  return nb::bytes(key.data(), key.size());
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
  nb::enum_<Api>(module, "Api", "Whose argument names a message uses.")
      .value("SAMPLE", Api::kSample)
      .value("CALL", Api::kCall)
      .value("NATURAL", Api::kNatural);
  nb::class_<Options>(module, "Options", "Everything but tensors of a call.")
      .def("__init__", init_options, nb::kw_only(), nb::arg("mma_tiler_mn") = Pair{256, 256},
           nb::arg("cluster_shape_mn") = nb::none(), nb::arg("sf_vec_size") = nb::none(),
           nb::arg("scale_layout") = "swizzled", nb::arg("input_order") = "tensor2d",
           nb::arg("accumulate") = false, nb::arg("wgrad_dtype") = nb::none(),
           nb::arg("acc_dtype") = nb::none(), nb::arg("sf_fp8_dtype_override") = "",
           nb::arg("backend") = "", nb::arg("validate_device_data") = false,
           nb::arg("sm_limit") = 0);
  nb::class_<Described>(module, "Contract", "What stays the same from call to call.")
      .def_prop_ro(
          "key", [](const Described& d) { return as_bytes(call::key_of(d.contract)); },
          "equal for calls that one compiled operator serves")
      .def_prop_ro(
          "problem", [](const Described& d) { return d.contract.problem; },
          "the Problem, with this call's T")
      .def_prop_ro(
          "wgrad_shape", [](const Described& d) { return wgrad_shape(d.contract.problem); },
          "(E, M, N)")
      .def_prop_ro(
          "wgrad_dtype", [](const Described& d) { return name(d.contract.problem.wgrad_dtype); },
          "dtype name of the output")
      .def_prop_ro(
          "device", [](const Described& d) { return to_string(d.contract.place); },
          "'cpu' or 'cuda:<ordinal>'")
      .def("support", support_of, nb::arg("api"), nb::arg("device") = nb::none(),
           "Whether it can run on `device` (None: where the tensors are), in the words of `api`.")
      .def("explain", explanation_of, nb::arg("api"), nb::arg("device") = nb::none(),
           "What the planner would do on `device`, in the words of `api`.")
      .def(
          "require_support",
          [](const Described& d, Api api) { throw_if_unsupported(support_of(d, api, nullptr)); },
          nb::arg("api"), "Raises ValueError or RuntimeError where it cannot run.")
      .def("compile", compile, nb::arg("api"), nb::arg("candidate") = 0,
           "Plans and builds; `candidate` counts explain()'s usable ones of the backend.");
}

void bind_request(nb::module_& module) {
  nb::class_<Request>(module, "Request", "The tensors of one call, read once.")
      .def("__init__", init_request, nb::arg("api"), nb::arg("a").none(), nb::arg("b").none(),
           nb::arg("sfa").none(), nb::arg("sfb").none(), nb::arg("offsets").none(),
           nb::arg("wgrad").none(), nb::arg("wgrad_ptrs").none(), nb::arg("global_scale_a").none(),
           nb::arg("global_scale_b").none(), nb::arg("workspace").none(), nb::arg("options"),
           nb::arg("pointers"), nb::arg("stream").none(),
           "Raises ValueError for tensors that do not fit together, and for no stream.")
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
  nb::class_<Compiled>(module, "Compiled", "A contract with its executable.")
      .def("run", run, nb::arg("api"), nb::arg("a").none(), nb::arg("b").none(),
           nb::arg("sfa").none(), nb::arg("sfb").none(), nb::arg("offsets").none(),
           nb::arg("wgrad").none(), nb::arg("wgrad_ptrs").none(), nb::arg("global_scale_a").none(),
           nb::arg("global_scale_b").none(), nb::arg("stream").none(), nb::arg("workspace").none(),
           "Computes one call.")
      .def(
          "run_request", [](const Compiled& c, Request& request) { request.run(*c.op); },
          nb::arg("request"), "Computes a call that was read before.")
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
  nb::class_<call::OperatorCache>(module, "CompiledCalls",
                                  "The operators that grouped_wgrad keeps.")
      .def(nb::init<>())
      .def("run", run_call, nb::arg("a").none(), nb::arg("b").none(), nb::arg("sfa").none(),
           nb::arg("sfb").none(), nb::arg("offsets").none(), nb::arg("wgrad").none(),
           nb::arg("wgrad_ptrs").none(), nb::arg("global_scale_a").none(),
           nb::arg("global_scale_b").none(), nb::arg("options"), nb::arg("pointers"),
           nb::arg("stream").none(), nb::arg("workspace").none(),
           "Computes one call with the operator of its contract, compiled at its first use.")
      .def(
          "prepare",
          [](call::OperatorCache& c, const Request& request) {
            in_words_of(request.api(), [&] { c.get(request.call()); });
          },
          nb::arg("request"), "Compiles the operator of a call where that was not done yet.")
      .def(
          "run_request", [](call::OperatorCache& c, Request& request) { request.run(c); },
          nb::arg("request"), "Computes a call that was read before.")
      .def("fault", &call::OperatorCache::fault, "A DeviceFault that one of them saw, or None.")
      .def("clear_fault", &call::OperatorCache::clear_fault, "Forgets the faults seen.");
}

}  // namespace

void bind_operator(nb::module_& module) {
  bind_contract(module);
  bind_request(module);
  bind_compiled(module);
  bind_calls(module);
  module.def("workspace_bytes", call::workspace_bytes, nb::arg("experts"), nb::arg("pointers"),
             "Bytes of a descriptor_workspace, for an output through addresses or in one tensor.");
  module.def("describe", describe_call, nb::arg("api"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("sfa").none(), nb::arg("sfb").none(), nb::arg("offsets").none(),
             nb::arg("wgrad").none(), nb::arg("wgrad_ptrs").none(),
             nb::arg("global_scale_a").none(), nb::arg("global_scale_b").none(), nb::arg("options"),
             nb::arg("pointers"),
             "The Contract of a call. Raises ValueError for tensors that do not fit together.");
}

}  // namespace wgrad::python
