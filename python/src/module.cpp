#include "bindings.hpp"
#include "errors.hpp"

NB_MODULE(_core, module) {
  module.doc() = "The C++ side of the wgrad package.";
  wgrad::python::bind_errors(module);
  wgrad::python::bind_problem(module);
  wgrad::python::bind_answers(module);
  wgrad::python::bind_operator(module);
  wgrad::python::bind_scales(module);
}
