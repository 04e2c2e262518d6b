// wgrad.ValueError and wgrad.RuntimeError: the built-in classes, with the reasons attached.
#pragma once

#include <nanobind/nanobind.h>

namespace wgrad::python {

void bind_errors(nanobind::module_& module);

}  // namespace wgrad::python
