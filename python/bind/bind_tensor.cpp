#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>

#include "bindings.hpp"
#include "frontend.hpp"
#include "tensor_view.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

/// Of a tensor of at most kMaxRank axes.
nb::tuple axes(const TensorView& view, const std::array<std::int64_t, kMaxRank>& values) {
  nb::list list;
  for (int axis = 0; axis < std::min(view.rank, kMaxRank); ++axis) {
    list.append(values[static_cast<std::size_t>(axis)]);
  }
  return nb::tuple(list);
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<TensorView>(module, "TensorView", "A tensor of any framework as plain numbers.")
      .def_prop_ro(
          "shape", [](const TensorView& v) { return axes(v, v.shape); }, "up to four extents")
      .def_prop_ro(
          "strides", [](const TensorView& v) { return axes(v, v.strides); }, "in elements")
      .def_ro("rank", &TensorView::rank, "number of axes")
      .def_prop_ro(
          "dtype",
          [](const TensorView& v) {
            return v.element == Element::kOther ? dtype_text(v) : std::string(name(v.element));
          },
          "canonical name; the framework's own where wgrad knows no such dtype")
      .def_prop_ro(
          "device", [](const TensorView& v) { return to_string(v.place); },
          "'cpu' or 'cuda:<ordinal>'")
      .def_prop_ro(
          "address", [](const TensorView& v) { return reinterpret_cast<std::uintptr_t>(v.data); },
          "of the first element")
      .def_prop_ro("contiguous", &TensorView::contiguous, "row-major without gaps")
      .def_ro("writable", &TensorView::writable, "whether it may be written")
      .def_ro("torch", &TensorView::torch, "whether it is torch's");
  module.def(
      "read_tensor",
      [](nb::handle object, const char* field) { return read_tensor(object, field); },
      nb::arg("object").none(), nb::arg("field"),
      "Reads `object`, which a refusal calls `field`. Raises ValueError for what is no tensor.");
  module.def("refuse_detached", refuse_detached, nb::arg("view"), nb::arg("field"),
             "Raises ValueError for torch's where it requires grad while gradients are recorded.");
}

}  // namespace wgrad::python
