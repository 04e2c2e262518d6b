#include "stream.hpp"

#include <Python.h>
#include <nanobind/stl/string.h>

#include "call/refusals.hpp"
#include "torch_calls.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Place;
using call::refuse;
namespace {

void* as_handle(nb::handle integer) {
  void* handle = PyLong_AsVoidPtr(integer.ptr());
  if (handle == nullptr && PyErr_Occurred() != nullptr) throw nb::python_error();
  return handle;
}

void* current_stream(const Place& place, const Origin& a) {
  if (a.exchange != nullptr && a.exchange->current_stream != nullptr) {
    void* handle = nullptr;
    if (a.exchange->current_stream(dlpack::kCuda, place.ordinal, &handle) != 0) {
      throw nb::python_error();
    }
    return handle;
  }
  return a.torch ? current_torch_stream(place.ordinal) : nullptr;
}

void check_device_of(nb::handle torch_stream, const Place& place) {
  if (!nb::hasattr(torch_stream, "device_index")) return;
  const Place own{DeviceKind::kCuda, nb::cast<int>(torch_stream.attr("device_index"))};
  if (own != place) {
    refuse({"device", "stream", "a stream of " + to_string(own),
            "a stream of the operands' device: " + to_string(place)});
  }
}

nb::object integer_of(nb::handle stream, const Place& place) {
  if (nb::hasattr(stream, "cuda_stream")) {
    check_device_of(stream, place);
    return stream.attr("cuda_stream");
  }
  if (nb::hasattr(stream, "__cuda_stream__")) {
    nb::object answer = stream.attr("__cuda_stream__");
    if (PyCallable_Check(answer.ptr()) != 0) answer = answer();
    return answer[1];
  }
  PyObject* integer = PyNumber_Long(stream.ptr());
  if (integer != nullptr) return nb::steal(integer);
  PyErr_Clear();
  refuse({"stream", "stream",
          "a " + nb::cast<std::string>(nb::handle(Py_TYPE(stream.ptr())).attr("__name__")),
          "None, an integer handle, a torch stream or a CUstream"});
}

}  // namespace

void* stream_handle(nb::handle stream, const Place& place, const Origin& a) {
  const bool on_cpu = place.kind == DeviceKind::kCpu;
  if (stream.is_none()) return on_cpu ? nullptr : current_stream(place, a);
  if (on_cpu) refuse({"stream", "stream", "given", "None: the operands are on a CPU"});
  if (PyLong_Check(stream.ptr())) return as_handle(stream);
  return as_handle(integer_of(stream, place));
}

}  // namespace wgrad::python
