#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

#include "bindings.hpp"
#include "call/refusals.hpp"
#include "call/spelling.hpp"
#include "intake/intake.hpp"
#include "stream.hpp"
#include "unlocked.hpp"
#include "wgrad/device_quantize.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::refuse;
using call::TensorView;
namespace {

using Tensors = std::vector<nb::handle>;

/// Null for None.
void* address_of(nb::handle tensor, const char* field) {
  return tensor.is_none() ? nullptr : read_tensor(tensor, field).view.data;
}

DType source_dtype(const TensorView& x) {
  const std::optional<DType> dtype = call::operand_dtype(x.element);
  if (dtype == DType::kBf16 || dtype == DType::kF16 || dtype == DType::kF32) return *dtype;
  if (x.element == call::Element::kF32) return DType::kF32;
  refuse({"dtype", "x", dtype_text(x), "bfloat16, float16 or float32 on a CUDA device"});
}

/// The parts of one operand, each a tensor that Python allocated.
DeviceQuantizeOperand operand(const TensorView& x, nb::handle elements, nb::handle scales,
                              nb::handle given, nb::handle factors) {
  return {x.data,
          x.shape[1],
          x.strides[1],
          x.strides[0],
          address_of(elements, "elements"),
          address_of(scales, "scales"),
          static_cast<const float*>(address_of(given, "global_scale")),
          static_cast<float*>(address_of(factors, "global_scales"))};
}

void quantize_on_device(const Tensors& sources, nb::handle offsets, std::string_view format,
                        std::string_view element, std::string_view major,
                        std::string_view input_order, std::string_view layout, std::uint8_t padding,
                        std::string_view scaling_mode, std::optional<std::uint64_t> stochastic_seed,
                        std::optional<std::uint64_t> hadamard_seed, const Tensors& given,
                        const Tensors& elements, const Tensors& scales, const Tensors& factors,
                        nb::handle workspace) {
  const Intake first = read_tensor(sources.at(0), "x");
  const Intake ends = read_tensor(offsets, "offsets");
  std::vector<DeviceQuantizeOperand> operands;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const Intake in = read_tensor(sources[i], "x");
    operands.push_back(operand(in.view, elements.at(i), scales.at(i), given.at(i), factors.at(i)));
  }
  DeviceQuantization call;
  call.spec = {call::format_named(format),
               call::dtype_named(element, "element"),
               call::major_named(major, "major"),
               call::input_order_named(input_order),
               call::scale_layout_named(layout),
               padding,
               call::scaling_mode_named(scaling_mode),
               {},
               stochastic_seed,
               hadamard_seed};
  call.source_dtype = source_dtype(first.view);
  call.tokens = first.view.shape[0];
  call.experts = ends.view.shape[0];
  call.offsets = static_cast<const std::int32_t*>(ends.view.data);
  call.scale_cols = read_tensor(scales.at(0), "scales").view.shape[1];
  call.workspace = address_of(workspace, "workspace");
  call.operands = operands;
  call.device = first.view.place.ordinal;
  call.stream = stream_handle(nb::none(), first.view.place, first.origin);
  const Unlocked unlocked;  // the first call of a kernel compiles it
  quantize_along_tokens(call);
}

}  // namespace

void bind_device_quantize(nb::module_& module) {
  module.def(
      "quantize_on_device", quantize_on_device, nb::arg("sources"), nb::arg("offsets"),
      nb::arg("format"), nb::arg("element"), nb::arg("major"), nb::arg("input_order"),
      nb::arg("layout"), nb::arg("padding"), nb::arg("scaling_mode"),
      nb::arg("stochastic_seed").none(), nb::arg("hadamard_seed").none(), nb::arg("global_scales"),
      nb::arg("elements"), nb::arg("scales"), nb::arg("global_scales_out"), nb::arg("workspace"),
      "Quantises one or two (T, rows) CUDA tensors into tensors of bytes, on torch's current "
      "stream.");
  module.def("quantize_workspace_bytes", quantize_workspace_bytes, nb::arg("experts"),
             "Device bytes that a call needs.");
  module.def(
      "device_scale_cols",
      [](std::int64_t tokens, std::int64_t experts, int vec_size, std::string_view layout) {
        return device_scale_cols(tokens, experts, vec_size, call::scale_layout_named(layout));
      },
      nb::arg("tokens"), nb::arg("experts"), nb::arg("vec_size"), nb::arg("layout"),
      "Scale columns that suffice for any offsets.");
  module.def("quantize_fault", quantize_fault,
             "The first DeviceFault that a call of quantize_on_device() saw, or None.");
  module.def("clear_quantize_fault", clear_quantize_fault, "Forgets it.");
}

}  // namespace wgrad::python
