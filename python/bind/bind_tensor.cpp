#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>

#include "bindings.hpp"
#include "intake/intake.hpp"
#include "torch_calls.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

using Axes = std::array<std::int64_t, call::kMaxRank>;

/// The first kMaxRank of `values`.
nb::tuple axes(const Intake& in, const Axes& values) {
  nb::list list;
  for (int axis = 0; axis < std::min(in.view.rank, call::kMaxRank); ++axis) {
    list.append(values[static_cast<std::size_t>(axis)]);
  }
  return nb::tuple(list);
}

}  // namespace

void bind_tensor(nb::module_& module) {
  nb::class_<Intake>(module, "TensorView", "A tensor of any framework as plain numbers.")
      .def_prop_ro(
          "shape", [](const Intake& in) { return axes(in, in.view.shape); }, "up to four extents")
      .def_prop_ro(
          "strides", [](const Intake& in) { return axes(in, in.view.strides); }, "in elements")
      .def_prop_ro(
          "rank", [](const Intake& in) { return in.view.rank; }, "number of axes")
      .def_prop_ro(
          "dtype", [](const Intake& in) { return call::dtype_text(in.view); },
          "canonical name; the framework's own where wgrad knows no such dtype")
      .def_prop_ro(
          "device", [](const Intake& in) { return call::to_string(in.view.place); },
          "'cpu' or 'cuda:<ordinal>'")
      .def_prop_ro(
          "address",
          [](const Intake& in) { return reinterpret_cast<std::uintptr_t>(in.view.data); },
          "of the first element")
      .def_prop_ro(
          "contiguous", [](const Intake& in) { return in.view.contiguous(); },
          "row-major without gaps")
      .def_prop_ro(
          "writable", [](const Intake& in) { return in.view.writable; },
          "whether it may be written")
      .def_prop_ro(
          "torch", [](const Intake& in) { return in.origin.torch; }, "whether it is torch's");
  module.def(
      "read_tensor",
      [](nb::handle object, const char* field) { return read_tensor(object, field); },
      nb::arg("object").none(), nb::arg("field"),
      "Reads `object`, which a refusal calls `field`. Raises ValueError for what is no tensor.");
  module.def("need_memory", need_memory, nb::arg("view"), nb::arg("field"),
             "Raises ValueError for a tensor that has elements and no memory.");
  module.def(
      "refuse_detached",
      [](const Intake& in, const char* field) { refuse_detached(in.origin, field); },
      nb::arg("view"), nb::arg("field"),
      "Raises ValueError for torch's where it requires grad while gradients are recorded.");
}

}  // namespace wgrad::python
