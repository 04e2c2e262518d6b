#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "call/refusals.hpp"
#include "states.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/explain.hpp"
#include "wgrad/support.hpp"
#include "wgrad/toolchain.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

std::string text(const Support& support) {
  if (support) return "supported";
  std::string out = "not supported:";
  for (const Reason& reason : support.reasons) out += "\n  " + to_string(reason);
  return out;
}

std::string text(const Candidate& c) {
  std::string out = c.backend.empty() ? "no backend" : c.backend;
  if (!c.plan.empty()) out += ": " + c.plan;
  if (c.on_request) out += " (only on request)";
  for (const Reason& reason : c.reasons) out += "\n  no: " + to_string(reason);
  return out;
}

std::string text(const Explanation& explanation) {
  std::string out;
  for (const Candidate& candidate : explanation.candidates) out += text(candidate) + "\n";
  for (const std::string& note : explanation.notes) out += "note: " + note + "\n";
  return out;
}

std::string repr(const DeviceSpec& d) {
  if (d.kind == DeviceKind::kCpu) return "<DeviceSpec cpu '" + d.name + "'>";
  const std::string limit =
      d.sm_limit > 0 ? ", at most " + std::to_string(d.sm_limit) + " a launch" : "";
  return "<DeviceSpec cuda '" + d.name + "', " + std::to_string(d.sm_count) + " SMs" + limit + ">";
}

void init_device(DeviceSpec* self, const std::string& kind, const std::string& label, int arch,
                 int sm_count, std::int64_t smem_bytes, std::int64_t l2_bytes, int threads,
                 bool avx512_bf16, bool amx_bf16, int sm_limit, bool allow_unverified) {
  if (kind != "cpu" && kind != "cuda") {
    call::refuse({"choice", "kind", "'" + kind + "'", "'cpu' or 'cuda'"});
  }
  const DeviceKind device = kind == "cpu" ? DeviceKind::kCpu : DeviceKind::kCuda;
  new (self) DeviceSpec{device,  label,       arch,     sm_count, smem_bytes,      l2_bytes,
                        threads, avx512_bf16, amx_bf16, sm_limit, allow_unverified};
}

void bind_device(nb::module_& module) {
  auto bound =
      nb::class_<DeviceSpec>(module, "DeviceSpec",
                             "What a machine offers, as a value that can also be written by hand.")
          .def("__init__", init_device, nb::kw_only(), nb::arg("kind"), nb::arg("name") = "",
               nb::arg("arch") = 0, nb::arg("sm_count") = 0, nb::arg("smem_bytes") = 0,
               nb::arg("l2_bytes") = 0, nb::arg("threads") = 1, nb::arg("avx512_bf16") = false,
               nb::arg("amx_bf16") = false, nb::arg("sm_limit") = 0,
               nb::arg("allow_unverified") = false)
          .def_prop_ro(
              "kind",
              [](const DeviceSpec& d) { return d.kind == DeviceKind::kCpu ? "cpu" : "cuda"; },
              "'cpu' or 'cuda'")
          .def_rw("name", &DeviceSpec::name, "as the machine calls itself")
          .def_rw("arch", &DeviceSpec::arch, "CUDA compute capability times ten; 0 on a CPU")
          .def_rw("sm_count", &DeviceSpec::sm_count, "multiprocessors")
          .def_rw("sm_limit", &DeviceSpec::sm_limit,
                  "multiprocessors a launch may use, beside other kernels; 0: all")
          .def_rw("allow_unverified", &DeviceSpec::allow_unverified,
                  "kernels that have never run on such a GPU may be chosen")
          .def_rw("smem_bytes", &DeviceSpec::smem_bytes, "shared memory one CTA may use")
          .def_rw("l2_bytes", &DeviceSpec::l2_bytes, "second-level cache")
          .def_rw("threads", &DeviceSpec::threads, "CPU threads a run may use")
          .def_rw("avx512_bf16", &DeviceSpec::avx512_bf16, "the CPU multiplies bf16 pairs")
          .def_rw("amx_bf16", &DeviceSpec::amx_bf16, "the CPU multiplies bf16 tiles")
          .def(
              "__eq__", [](const DeviceSpec& a, const DeviceSpec& b) { return a == b; },
              nb::is_operator())
          .def("__repr__", repr);
  make_picklable(bound);
  module.attr("DeviceSpec").attr("__hash__") = nb::none();  // its fields may change
  module.def("cpu_device", cpu_device, "This machine's CPU.");
  module.def("cuda_device", cuda_device, nb::arg("ordinal"),
             "CUDA device `ordinal`.\n\nRaises RuntimeError without a driver, ValueError for a bad "
             "ordinal.");
  module.def("cuda_device_count", cuda_device_count,
             "Number of CUDA devices; 0 where no driver can be loaded.");
  module.def("add_nvrtc_folder", add_nvrtc_folder, nb::arg("folder"),
             "Another folder in which libnvrtc may lie, searched after the toolkits.");
}

void bind_support(nb::module_& module) {
  auto reason =
      nb::class_<Reason>(module, "Reason", "One broken rule: field is got; it must be need.")
          .def(
              "__init__",
              [](Reason* self, std::string rule, std::string field, std::string got,
                 std::string need) {
                new (self)
                    Reason{std::move(rule), std::move(field), std::move(got), std::move(need)};
              },
              nb::arg("rule"), nb::arg("field"), nb::arg("got"), nb::arg("need"))
          .def_ro("rule", &Reason::rule, "short stable id")
          .def_ro("field", &Reason::field, "the argument")
          .def_ro("got", &Reason::got, "what was given")
          .def_ro("need", &Reason::need, "what is needed")
          .def_prop_ro(
              "bad_argument", [](const Reason& r) { return r.kind == ReasonKind::kBadArgument; },
              "True: a ValueError; False: a missing capability, a RuntimeError")
          .def(
              "__eq__", [](const Reason& a, const Reason& b) { return a == b; }, nb::is_operator())
          .def("__hash__", [](const Reason& r) { return std::hash<std::string>()(to_string(r)); })
          .def("__str__", [](const Reason& r) { return to_string(r); })
          .def("__repr__", [](const Reason& r) { return "<Reason: " + to_string(r) + ">"; });
  make_picklable(reason);
  auto support =
      nb::class_<Support>(module, "Support",
                          "True where a problem can run; else every reason why not.")
          .def_ro("reasons", &Support::reasons, "list of Reason; empty means yes")
          .def("__bool__", [](const Support& s) { return static_cast<bool>(s); })
          .def("__str__", [](const Support& s) { return text(s); })
          .def("__repr__", [](const Support& s) { return "<Support: " + text(s) + ">"; });
  make_picklable(support);
  module.def("check_support",
             nb::overload_cast<const Problem&, const DeviceSpec&, std::string_view>(check_support),
             nb::arg("problem"), nb::arg("device"), nb::arg("backend") = "",
             "Whether some backend, or the one called `backend`, runs `problem` on `device`.");
}

void bind_explanation(nb::module_& module) {
  auto candidate =
      nb::class_<Candidate>(module, "Candidate", "One way to compute a problem.")
          .def_ro("backend", &Candidate::backend, "'cpu', 'cuda', ...")
          .def_ro("plan", &Candidate::plan, "the plan in one line")
          .def_ro("predicted_ms", &Candidate::predicted_ms, "milliseconds; 0: not predicted")
          .def_ro("bound", &Candidate::bound, "what limits the prediction")
          .def_ro("reasons", &Candidate::reasons, "list of Reason; empty: usable")
          .def_ro("on_request", &Candidate::on_request, "runs only where `backend` names it")
          .def("__str__", [](const Candidate& c) { return text(c); })
          .def("__repr__", [](const Candidate& c) { return "<Candidate " + text(c) + ">"; });
  make_picklable(candidate);
  auto explanation =
      nb::class_<Explanation>(module, "Explanation", "What the planner would do, and why.")
          .def_ro("candidates", &Explanation::candidates,
                  "list of Candidate: the chosen one first, those that run on request alone last")
          .def_ro("notes", &Explanation::notes, "arguments that have no effect here")
          .def("__str__", [](const Explanation& e) { return text(e); })
          .def("__repr__", [](const Explanation& e) { return "<Explanation\n" + text(e) + ">"; });
  make_picklable(explanation);
  module.def("explain", explain, nb::arg("problem"), nb::arg("device"),
             "All ways to compute `problem` on `device`, the chosen one first.");
}

}  // namespace

void bind_answers(nb::module_& module) {
  bind_device(module);
  bind_support(module);
  bind_explanation(module);
}

}  // namespace wgrad::python
