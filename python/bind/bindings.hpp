// The parts of the extension module, in the order they are bound.
#pragma once

#include <nanobind/nanobind.h>

namespace wgrad::python {

void bind_errors(nanobind::module_& module);   ///< ValueError, RuntimeError, with their reasons
void bind_problem(nanobind::module_& module);  ///< Problem
void bind_answers(nanobind::module_& module);  ///< DeviceSpec, Reason, Support, Explanation
void bind_options(nanobind::module_& module);  ///< Api, Options
void bind_call(nanobind::module_& module);     ///< Call, Contract, Operator, Operators
void bind_tensor(nanobind::module_& module);   ///< TensorView
void bind_scales(nanobind::module_& module);   ///< quantisation and scale layout
void bind_device_quantize(nanobind::module_& module);  ///< quantisation on CUDA devices

}  // namespace wgrad::python
