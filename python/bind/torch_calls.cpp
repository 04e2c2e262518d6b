#include "torch_calls.hpp"

#include <Python.h>
#include <nanobind/stl/string.h>

namespace wgrad::python {
namespace nb = nanobind;
namespace {

/// A function of the package's. The first one asked for brings the operators with it that are
/// registered with torch.
nb::object ask(const char* name) {
  static bool registered = false;  // guarded by the GIL
  if (!registered) {
    registered = true;
    nb::module_::import_("wgrad.torch_frontend");
  }
  return nb::module_::import_("wgrad._torch_calls").attr(name);
}

std::uintptr_t stream_of(const call::Call& call) {
  return reinterpret_cast<std::uintptr_t>(call.operands.stream);
}

}  // namespace

void refuse_detached(const Origin& tensor, const char* field) {
  if (!tensor.torch) return;
  static PyObject* const kFlagName = PyUnicode_InternFromString("requires_grad");
  const nb::object flag = nb::steal(PyObject_GetAttr(tensor.object.ptr(), kFlagName));
  if (!flag.is_valid()) throw nb::python_error();
  if (flag.ptr() != Py_True || !nb::cast<bool>(ask("grad_enabled")())) return;
  call::refuse({"requires-grad", field, "a tensor that requires grad",
                nb::cast<std::string>(ask("DETACH"))});
}

void refuse_detached(const Arguments& in) {
  call::Reasons reasons;
  const auto check = [&](const Origin& tensor, const char* field) {
    call::collect(reasons, [&] { refuse_detached(tensor, field); });
  };
  check(in.a, "a");
  check(in.b, "b");
  check(in.wgrad, "wgrad");
  for (const Origin& output : in.outputs) check(output, "wgrad_ptrs");
  call::refuse_if_any(std::move(reasons));
}

void* current_torch_stream(int ordinal) {
  return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(ask("current_stream")(ordinal)));
}

nb::object new_workspace(std::int64_t bytes, const call::Call& call, bool given) {
  static PyObject* function = nullptr;  // looked up once, under the GIL
  if (function == nullptr) function = ask("new_workspace").release().ptr();
  const nb::object stream = given ? nb::cast(stream_of(call)) : nb::none();
  return nb::handle(function)(bytes, call.place.ordinal, stream);
}

nb::object device_table(const call::Call& call) {
  nb::list addresses;
  for (const std::int64_t address : call.addresses) addresses.append(address);
  return ask("pointer_table")(addresses, call.place.ordinal, stream_of(call));
}

void record_table(nb::handle table, const call::Call& call) {
  ask("record_stream")(table, stream_of(call), call.place.ordinal);
}

void mark_written(const Arguments& in) {
  nb::list written;
  if (in.wgrad.torch) written.append(in.wgrad.object);
  for (const Origin& output : in.outputs) {
    if (output.torch) written.append(output.object);
  }
  if (nb::len(written) == 0) return;
  // Looked up once. No initialiser of a static: its lock and the GIL could wait for each other.
  static PyObject* function = nullptr;
  if (function == nullptr) function = ask("mark_written").release().ptr();
  const nb::handle mark = function;
  mark(written);
}

}  // namespace wgrad::python
