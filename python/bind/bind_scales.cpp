#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <cfenv>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "call/element.hpp"
#include "call/refusals.hpp"
#include "call/spelling.hpp"
#include "intake/intake.hpp"
#include "unlocked.hpp"
#include "wgrad/quantize.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Element;
using call::refuse;
using call::TensorView;
namespace {

/// Hands a vector over to numpy without a copy.
template <class T>
nb::object to_numpy(std::vector<T> values) {
  auto owned = std::make_unique<std::vector<T>>(std::move(values));
  T* data = owned->data();
  const std::size_t size = owned->size();
  const nb::capsule owner(owned.release(),
                          [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

template <class T>
std::span<const T> host_span(const TensorView& view, Element element, const char* field) {
  if (view.element != element || view.place.kind != DeviceKind::kCpu || !view.contiguous()) {
    refuse({"array", field,
            dtype_text(view) + " " + shape_text(view) + " on " + to_string(view.place),
            "a contiguous " + std::string(name(element)) + " array on the CPU"});
  }
  return {static_cast<const T*>(view.data), static_cast<std::size_t>(view.size())};
}

std::span<const std::int32_t> read_offsets(nb::handle offsets, Intake& in) {
  in = read_tensor(offsets, "offsets");
  need_memory(in, "offsets");
  const TensorView& view = in.view;
  if (view.rank != 1) refuse({"rank", "offsets", "of shape " + shape_text(view), "1-D, (E,)"});
  return host_span<std::int32_t>(view, Element::kI32, "offsets");
}

/// Global scales; none: empty.
std::span<const float> read_factors(nb::handle factors, Intake& in) {
  if (factors.is_none()) return {};
  in = read_tensor(factors, "global_scale");
  return host_span<float>(in.view, Element::kF32, "global_scale");
}

/// Floats from the first to past the last element of a strided, non-negative 2-D view.
std::span<const float> source_span(const TensorView& x) {
  if (x.rank != 2 || x.element != Element::kF32 || x.place.kind != DeviceKind::kCpu ||
      x.strides[0] < 0 || x.strides[1] < 0) {
    refuse({"array", "x", dtype_text(x) + " " + shape_text(x) + " on " + to_string(x.place),
            "a 2-D float32 array on the CPU, (T, rows), with strides that are not negative"});
  }
  if (x.size() == 0) return {};
  const std::int64_t last = (x.shape[0] - 1) * x.strides[0] + (x.shape[1] - 1) * x.strides[1];
  return {static_cast<const float*>(x.data), static_cast<std::size_t>(last + 1)};
}

nb::tuple quantize(nb::handle x, nb::handle offsets, std::string_view format,
                   std::string_view element, std::string_view major, std::string_view input_order,
                   std::string_view layout, std::uint8_t padding, std::string_view scaling_mode,
                   std::optional<std::uint64_t> stochastic_seed,
                   std::optional<std::uint64_t> hadamard_seed, nb::handle global_scales) {
  const Intake in = read_tensor(x, "x");
  const TensorView& view = in.view;
  Intake ends;
  const auto offset_span = read_offsets(offsets, ends);
  const auto source = source_span(view);
  Intake factors;
  const QuantizeSpec spec{call::format_named(format),
                          call::dtype_named(element, "element"),
                          call::major_named(major, "major"),
                          call::input_order_named(input_order),
                          call::scale_layout_named(layout),
                          padding,
                          call::scaling_mode_named(scaling_mode),
                          read_factors(global_scales, factors),
                          stochastic_seed,
                          hadamard_seed};
  QuantizedOperand q;
  {
    const Unlocked unlocked;
    q = quantize_along_tokens(source, view.shape[1], view.shape[0], view.strides[1],
                              view.strides[0], offset_span, spec);
  }
  return nb::make_tuple(to_numpy(std::move(q.elements)), to_numpy(std::move(q.scales)),
                        q.scale_cols, to_numpy(std::move(q.global_scales)));
}

nb::object swizzle(nb::handle compact, std::int64_t rows, nb::handle offsets, int vec_size,
                   std::uint8_t padding) {
  const Intake scales = read_tensor(compact, "scales");
  Intake ends;
  const auto offset_span = read_offsets(offsets, ends);
  const auto in = host_span<std::uint8_t>(scales.view, Element::kU8, "scales");
  const std::int64_t cols = scale_cols(offset_span, vec_size, ScaleLayout::kSwizzled);
  std::vector<std::uint8_t> out(
      static_cast<std::size_t>(scale_bytes(rows, cols, ScaleLayout::kSwizzled)));
  swizzle_scales(in, rows, offset_span, vec_size, out, padding);
  return to_numpy(std::move(out));
}

nb::object unswizzle(nb::handle swizzled, std::int64_t rows, nb::handle offsets, int vec_size) {
  const Intake scales = read_tensor(swizzled, "scales");
  Intake ends;
  const auto offset_span = read_offsets(offsets, ends);
  const auto in = host_span<std::uint8_t>(scales.view, Element::kU8, "scales");
  const std::int64_t cols = scale_cols(offset_span, vec_size, ScaleLayout::kCompact);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(rows * cols));
  unswizzle_scales(in, rows, offset_span, vec_size, out);
  return to_numpy(std::move(out));
}

/// Round to nearest and keep subnormals, whatever a library set on this thread, while Python holds
/// it.
class FloatEnvironment {
 public:
  void enter() {
    std::fegetenv(&previous_);
    std::fesetenv(FE_DFL_ENV);
  }
  void leave() const { std::fesetenv(&previous_); }

 private:
  std::fenv_t previous_{};
};

}  // namespace

void bind_scales(nb::module_& module) {
  nb::class_<FloatEnvironment>(module, "FloatEnvironment",
                               "The default floating-point environment, within a with statement.")
      .def(nb::init<>())
      .def("__enter__", &FloatEnvironment::enter)
      .def("__exit__", [](const FloatEnvironment& e, const nb::args&) { e.leave(); });
  module.def("quantize", quantize, nb::arg("x"), nb::arg("offsets").none(), nb::arg("format"),
             nb::arg("element"), nb::arg("major"), nb::arg("input_order"), nb::arg("layout"),
             nb::arg("padding"), nb::arg("scaling_mode"), nb::arg("stochastic_seed") = nb::none(),
             nb::arg("hadamard_seed") = nb::none(), nb::arg("global_scales") = nb::none(),
             "(element bytes, scale bytes, scale columns, global scales), all flat.");
  module.def(
      "scale_cols",
      [](nb::handle offsets, int vec_size, std::string_view layout) {
        Intake ends;
        return scale_cols(read_offsets(offsets, ends), vec_size, call::scale_layout_named(layout));
      },
      nb::arg("offsets").none(), nb::arg("vec_size"), nb::arg("layout"),
      "Scale columns that the storage of `offsets` needs.");
  module.def("swizzle_scales", swizzle, nb::arg("scales"), nb::arg("rows"),
             nb::arg("offsets").none(), nb::arg("vec_size"), nb::arg("padding"),
             "Flat swizzled bytes of compact ones.");
  module.def("unswizzle_scales", unswizzle, nb::arg("scales"), nb::arg("rows"),
             nb::arg("offsets").none(), nb::arg("vec_size"),
             "Flat compact bytes of swizzled ones.");
}

}  // namespace wgrad::python
