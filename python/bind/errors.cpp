// wgrad.ValueError and wgrad.RuntimeError: the built-in classes, with the reasons attached.
#include <Python.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/support.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

PyObject* value_error = nullptr;
PyObject* runtime_error = nullptr;

PyObject* add_class(nb::module_& module, const char* name, const char* doc, PyObject* base) {
  const std::string path = std::string("wgrad.") + name;
  PyObject* type = PyErr_NewExceptionWithDoc(path.c_str(), doc, base, nullptr);
  if (type == nullptr) throw nb::python_error();
  nb::setattr(type, "reasons", nb::make_tuple());
  module.attr(name) = nb::handle(type);
  return type;
}

void raise(PyObject* type, const std::exception& error) {
  const nb::object instance = nb::handle(type)(nb::str(error.what()));
  if (const auto* refusal = dynamic_cast<const Refusal*>(&error)) {
    instance.attr("reasons") = nb::tuple(nb::cast(refusal->reasons()));
  }
  PyErr_SetObject(type, instance.ptr());
}

void translate_exception(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const ValueError& error) {
    raise(value_error, error);
  } catch (const RuntimeError& error) {
    raise(runtime_error, error);
  }
}

}  // namespace

void bind_errors(nb::module_& module) {
  value_error = add_class(module, "ValueError",
                          "A bad argument: shape, dtype, stride, alignment, forbidden control, "
                          "device data.\n\nreasons: tuple of Reason, one per broken rule.",
                          PyExc_ValueError);
  runtime_error = add_class(module, "RuntimeError",
                            "A missing capability, or a wrong order of calls.\n\nreasons: tuple of "
                            "Reason, one per capability that is missing.",
                            PyExc_RuntimeError);
  nb::register_exception_translator(translate_exception);
}

}  // namespace wgrad::python
