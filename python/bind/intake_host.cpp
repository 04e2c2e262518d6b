#include <Python.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "intake.hpp"
#include "refuse.hpp"

namespace wgrad::python {
namespace nb = nanobind;
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

void set_axes(TensorView& view, int rank, const Py_ssize_t* shape, const Py_ssize_t* byte_strides,
              Py_ssize_t itemsize, const char* field) {
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

void release(void* buffer) noexcept {
  const nb::gil_scoped_acquire gil;
  PyBuffer_Release(static_cast<Py_buffer*>(buffer));
  delete static_cast<Py_buffer*>(buffer);
}

}  // namespace

void read_by_array_struct(TensorView& view, const char* field) {
  static PyObject* const kStructName = PyUnicode_InternFromString("__array_struct__");
  static PyObject* const kDtypeName = PyUnicode_InternFromString("dtype");
  const nb::object capsule = attribute(view.object, kStructName);
  const auto* array =
      static_cast<const ArrayInterface*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  if (array == nullptr) throw nb::python_error();
  if (array->itemsize > 1 && (array->flags & kNotSwapped) == 0) {
    refuse({"byte-order", field, "byte-swapped or structured",
            "of plain numbers in native byte order"});
  }
  view.element = element_of_dtype(attribute(view.object, kDtypeName));
  view.data = array->data;
  view.writable = (array->flags & kWritable) != 0;
  set_axes(view, array->rank, array->shape, array->strides, std::max(array->itemsize, 1), field);
}

void read_by_buffer(TensorView& view, const char* field) {
  auto buffer = std::make_unique<Py_buffer>();
  if (PyObject_GetBuffer(view.object.ptr(), buffer.get(), PyBUF_RECORDS_RO) != 0) {
    throw nb::python_error();
  }
  Py_buffer* held = buffer.release();
  view.keeps = nb::capsule(held, release);
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

void read_by_attributes(TensorView& view) {
  const nb::handle t = view.object;
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
