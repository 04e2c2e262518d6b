#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bindings.hpp"
#include "compiled_calls.hpp"
#include "request.hpp"
#include "spelling.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::python {
namespace nb = nanobind;
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
  o.scale_layout = scale_layout_named(scale_layout);
  o.input_order = input_order_named(input_order);
  o.accumulate = accumulate;
  if (wgrad_dtype) o.wgrad_dtype = dtype_named(*wgrad_dtype, "wgrad_dtype");
  if (acc_dtype) o.acc_dtype = dtype_named(*acc_dtype, "acc_dtype");
  o.sf_fp8_dtype_override = sf_fp8_dtype_override;
  o.backend = backend;
  o.validate_device_data = validate_device_data;
  o.sm_limit = sm_limit;
  new (self) Options(std::move(o));
}

OutputForm form_of(bool pointers) {
  return pointers ? OutputForm::kPointers : OutputForm::kStacked;
}

Contract describe_call(Api api, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
                       H global_scale_a, H global_scale_b, const Options& options, bool pointers) {
  return Request(api,
                 {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
                  nb::handle(Py_None)},
                 options, form_of(pointers))
      .contract();
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
  self.run(api,
           {a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b, workspace},
           stream);
}

void run_call(CompiledCalls& self, H a, H b, H sfa, H sfb, H offsets, H wgrad, H wgrad_ptrs,
              H global_scale_a, H global_scale_b, const Options& options, bool pointers, H stream,
              H workspace) {
  self.run({a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b, workspace},
           options, form_of(pointers), stream);
}

nb::tuple wgrad_shape(const Problem& p) {
  return nb::make_tuple(p.experts, p.m, p.n);
}

nb::bytes as_bytes(const std::string& key) {
  return nb::bytes(key.data(), key.size());
}

nb::list other_keys_of(const Request& request) {
  nb::list keys;
  for (const std::string& key : request.other_keys()) keys.append(as_bytes(key));
  return keys;
}

Support support_of(const Contract& self, Api api, const DeviceSpec* device) {
  return in_words_of(api, [&]() -> Support {
    const DeviceSpec spec = self.device(device);
    return {
        translate(api, check_support(self.problem, spec, self.options.backend, self.lds).reasons)};
  });
}

Explanation explanation_of(const Contract& self, Api api, const DeviceSpec* device) {
  Explanation out = explain(self.problem, self.device(device));
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
  nb::class_<Contract>(module, "Contract", "What stays the same from call to call.")
      .def_prop_ro(
          "key", [](const Contract& c) { return as_bytes(c.key()); },
          "equal for calls that one compiled operator serves")
      .def_ro("problem", &Contract::problem, "the Problem, with this call's T")
      .def_prop_ro(
          "wgrad_shape", [](const Contract& c) { return wgrad_shape(c.problem); }, "(E, M, N)")
      .def_prop_ro(
          "wgrad_dtype", [](const Contract& c) { return name(c.problem.wgrad_dtype); },
          "dtype name of the output")
      .def_prop_ro(
          "device", [](const Contract& c) { return to_string(c.place); },
          "'cpu' or 'cuda:<ordinal>'")
      .def("support", support_of, nb::arg("api"), nb::arg("device") = nb::none(),
           "Whether it can run on `device` (None: where the tensors are), in the words of `api`.")
      .def("explain", explanation_of, nb::arg("api"), nb::arg("device") = nb::none(),
           "What the planner would do on `device`, in the words of `api`.")
      .def(
          "require_support",
          [](const Contract& c, Api api) { throw_if_unsupported(support_of(c, api, nullptr)); },
          nb::arg("api"), "Raises ValueError or RuntimeError where it cannot run.")
      .def(
          "compile",
          [](const Contract& c, Api api, int candidate) {
            return in_words_of(api, [&] { return Compiled(c, candidate); });
          },
          nb::arg("api"), nb::arg("candidate") = 0,
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
          "key", [](const Request& r) { return as_bytes(r.key()); },
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
      .def("contract", &Request::contract, "What stays the same from call to call.")
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
      .def("run_request", nb::overload_cast<Request&>(&Compiled::run, nb::const_),
           nb::arg("request"), "Computes a call that was read before.")
      .def("fault", &Compiled::fault,
           "The first DeviceFault since compilation or clear_fault(), or None.")
      .def("clear_fault", &Compiled::clear_fault, "Forgets the fault seen.")
      .def_prop_ro(
          "backend", [](const Compiled& c) { return c.executable().backend(); },
          "name of the backend")
      .def_prop_ro(
          "plan", [](const Compiled& c) { return c.executable().plan(); }, "the plan in one line");
}

void bind_calls(nb::module_& module) {
  nb::class_<CompiledCalls>(module, "CompiledCalls", "The operators that grouped_wgrad keeps.")
      .def(nb::init<>())
      .def("run", run_call, nb::arg("a").none(), nb::arg("b").none(), nb::arg("sfa").none(),
           nb::arg("sfb").none(), nb::arg("offsets").none(), nb::arg("wgrad").none(),
           nb::arg("wgrad_ptrs").none(), nb::arg("global_scale_a").none(),
           nb::arg("global_scale_b").none(), nb::arg("options"), nb::arg("pointers"),
           nb::arg("stream").none(), nb::arg("workspace").none(),
           "Computes one call with the operator of its contract, compiled at its first use.")
      .def("prepare", &CompiledCalls::prepare, nb::arg("request"),
           "Compiles the operator of a call where that was not done yet.")
      .def("run_request", nb::overload_cast<Request&>(&CompiledCalls::run), nb::arg("request"),
           "Computes a call that was read before.")
      .def("fault", &CompiledCalls::fault, "A DeviceFault that one of them saw, or None.")
      .def("clear_fault", &CompiledCalls::clear_fault, "Forgets the faults seen.");
}

}  // namespace

void bind_operator(nb::module_& module) {
  bind_contract(module);
  bind_request(module);
  bind_compiled(module);
  bind_calls(module);
  module.def("workspace_bytes", workspace_bytes, nb::arg("experts"), nb::arg("pointers"),
             "Bytes of a descriptor_workspace, for an output through addresses or in one tensor.");
  module.def("describe", describe_call, nb::arg("api"), nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("sfa").none(), nb::arg("sfb").none(), nb::arg("offsets").none(),
             nb::arg("wgrad").none(), nb::arg("wgrad_ptrs").none(),
             nb::arg("global_scale_a").none(), nb::arg("global_scale_b").none(), nb::arg("options"),
             nb::arg("pointers"),
             "The Contract of a call. Raises ValueError for tensors that do not fit together.");
}

}  // namespace wgrad::python
