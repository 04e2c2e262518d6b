#include "bindings.hpp"
#include "unlocked.hpp"

namespace {

/// Calls that daemon threads have under way when the interpreter ends are waited for so long.
constexpr std::chrono::milliseconds kLastCalls{5000};

}  // namespace

NB_MODULE(_core, module) {
  module.doc() = "The C++ side of the wgrad package.";
  // A program may keep an operator past the interpreter's exit, and torch keeps what is registered
  // with it: neither concerns whoever reads the program's output. Tests ask for the report.
  nanobind::set_leak_warnings(false);
  module.def("report_leaks", nanobind::set_leak_warnings, nanobind::arg("wanted"),
             "Whether to report, on standard error, what outlives the interpreter.");
  nanobind::module_::import_("atexit").attr("register")(
      nanobind::cpp_function([] { wgrad::python::end_work(kLastCalls); }));
  wgrad::python::bind_errors(module);
  wgrad::python::bind_problem(module);
  wgrad::python::bind_answers(module);
  wgrad::python::bind_options(module);
  wgrad::python::bind_call(module);
  wgrad::python::bind_tensor(module);
  wgrad::python::bind_scales(module);
  wgrad::python::bind_device_quantize(module);
}
