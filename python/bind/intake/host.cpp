#include <Python.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "call/refusals.hpp"
#include "intake/buffer_abi.hpp"
#include "intake/intake.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Element;
using call::kMaxRank;
using call::refuse;
namespace {

/// numpy's array interface, C side. Source: numpy "The array interface protocol".
struct ArrayInterface {
  int two;
  int rank;
  char kind;
  int itemsize;
  int flags;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  void* data;
  PyObject* descr;
};
constexpr int kNotSwapped = 0x200;
constexpr int kWritable = 0x400;

nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* value = PyObject_GetAttr(object.ptr(), name);
  if (value == nullptr) throw nb::python_error();
  return nb::steal(value);
}

void set_axes(call::TensorView& view, int rank, const Py_ssize_t* shape,
              const Py_ssize_t* byte_strides, Py_ssize_t itemsize, const char* field) {
  view.rank = rank;
  const bool empty = std::find(shape, shape + rank, 0) != shape + rank;
  for (int i = 0; i < std::min(rank, kMaxRank); ++i) {
    const auto axis = static_cast<std::size_t>(i);
    view.shape[axis] = shape[i];
    view.strides[axis] = byte_strides[i] / itemsize;
    if (byte_strides[i] % itemsize != 0 && shape[i] > 1 && !empty) {
      refuse({"strides", field, "strided by " + std::to_string(byte_strides[i]) + " bytes",
              "strided by whole elements"});
    }
  }
}

Element element_of_format(const Py_buffer& buffer) {
  const std::string format = buffer.format != nullptr ? buffer.format : "B";
  const char code = format.back();
  if (format.size() == 2 && format.front() != '@' && format.front() != '=' &&
      format.front() != '<') {
    return Element::kOther;
  }
  if (code == 'e') return Element::kF16;
  if (code == 'f') return Element::kF32;
  if (code == 'B') return Element::kU8;
  const bool integer = code == 'i' || code == 'l' || code == 'q';
  if (integer && buffer.itemsize == 4) return Element::kI32;
  if (integer && buffer.itemsize == 8) return Element::kI64;
  return Element::kOther;
}

/// numpy dtypes are known by their scalar type, which outlives any dtype instance.
nb::object identity(nb::handle dtype) {
  static PyObject* const kName = PyUnicode_InternFromString("type");
  PyObject* type = PyObject_GetAttr(dtype.ptr(), kName);
  if (type != nullptr) return nb::steal(type);
  PyErr_Clear();
  return nb::borrow(dtype);
}

Element by_text(nb::handle dtype) {
  const nb::object text =
      nb::hasattr(dtype, "name") ? nb::object(dtype.attr("name")) : nb::object(nb::str(dtype));
  return call::element_named(nb::cast<std::string>(nb::str(text)));
}

/// By a numpy or torch dtype object; remembers the answer per object.
Element element_of_dtype(nb::handle dtype) {
  // Guarded by the GIL; the keys are kept alive so that an address is never reused.
  static auto* const kSeen = new std::unordered_map<PyObject*, Element>;
  if (const auto hit = kSeen->find(dtype.ptr()); hit != kSeen->end()) return hit->second;
  const nb::object key = identity(dtype);
  if (const auto hit = kSeen->find(key.ptr()); hit != kSeen->end()) return hit->second;
  const Element element = by_text(dtype);
  kSeen->emplace(nb::object(key).release().ptr(), element);
  return element;
}

void release(void* buffer) noexcept {
  const nb::gil_scoped_acquire gil;
  PyBuffer_Release(static_cast<Py_buffer*>(buffer));
  delete static_cast<Py_buffer*>(buffer);
}

}  // namespace

void read_by_array_struct(Intake& in, const char* field) {
  call::TensorView& view = in.view;
  static PyObject* const kStructName = PyUnicode_InternFromString("__array_struct__");
  static PyObject* const kDtypeName = PyUnicode_InternFromString("dtype");
  const nb::object capsule = attribute(in.origin.object, kStructName);
  const auto* array =
      static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (array == nullptr) throw nb::python_error();
  if (array->itemsize > 1 && (array->flags & kNotSwapped) == 0) {
    refuse({"byte-order", field, "byte-swapped or structured",
            "of plain numbers in native byte order"});
  }
  view.element = element_of_dtype(attribute(in.origin.object, kDtypeName));
  view.data = array->data;
  view.writable = (array->flags & kWritable) != 0;
  set_axes(view, array->rank, array->shape, array->strides, std::max(array->itemsize, 1), field);
}

void read_by_buffer(Intake& in, const char* field) {
  call::TensorView& view = in.view;
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(in.origin.object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0) {
    throw nb::python_error();
  }
  Py_buffer* held = buffer.release();
  in.keeps = nb::capsule(held, release);
  view.element = element_of_format(*held);
  view.data = held->buf;
  view.writable = held->readonly == 0;
  if (held->strides != nullptr) {
    set_axes(view, held->ndim, held->shape, held->strides, held->itemsize, field);
    return;
  }
  // ctypes leaves the strides of its arrays out, which are packed.
  std::vector<Py_ssize_t> strides(static_cast<std::size_t>(held->ndim), held->itemsize);
  for (int i = held->ndim - 1; i > 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    strides[axis - 1] = strides[axis] * held->shape[i];
  }
  set_axes(view, held->ndim, held->shape, strides.data(), held->itemsize, field);
}

void read_by_attributes(Intake& in) {
  call::TensorView& view = in.view;
  const nb::handle t = in.origin.object;
  const nb::object device = t.attr("device");
  if (nb::cast<std::string>(device.attr("type")) == "cuda") {
    view.place = {DeviceKind::kCuda, nb::cast<int>(device.attr("index"))};
  }
  view.data = reinterpret_cast<void*>(nb::cast<std::uintptr_t>(t.attr("data_ptr")()));
  view.element = element_of_dtype(t.attr("dtype"));
  const nb::tuple shape(t.attr("shape"));
  const nb::tuple strides(t.attr("stride")());
  view.rank = static_cast<int>(nb::len(shape));
  for (std::size_t i = 0; i < std::min<std::size_t>(nb::len(shape), kMaxRank); ++i) {
    view.shape[i] = nb::cast<std::int64_t>(shape[i]);
    view.strides[i] = nb::cast<std::int64_t>(strides[i]);
  }
}

}  // namespace wgrad::python
