#include "frontend.hpp"

#include <Python.h>
#include <nanobind/stl/string.h>

#include "refuse.hpp"

namespace wgrad::python {
namespace nb = nanobind;

nb::object torch_frontend(const char* function) {
  return nb::module_::import_("wgrad.torch_frontend").attr(function);
}

void refuse_detached(const TensorView& view, const char* field) {
  if (!view.torch) return;
  static PyObject* const kFlagName = PyUnicode_InternFromString("requires_grad");
  const nb::object flag = nb::steal(PyObject_GetAttr(view.object.ptr(), kFlagName));
  if (!flag.is_valid()) throw nb::python_error();
  if (flag.ptr() != Py_True || !nb::cast<bool>(torch_frontend("grad_enabled")())) return;
  refuse({"requires-grad", field, "a tensor that requires grad",
          nb::cast<std::string>(torch_frontend("DETACH"))});
}

void mark_written(std::span<const TensorView> views) {
  nb::list written;
  for (const TensorView& view : views) {
    if (view.torch) written.append(view.object);
  }
  if (nb::len(written) == 0) return;
  // Looked up once. No initialiser of a static: its lock and the GIL could wait for each other.
  static PyObject* function = nullptr;
  if (function == nullptr) function = torch_frontend("mark_written").release().ptr();
  const nb::handle mark = function;
  mark(written);
}

}  // namespace wgrad::python
