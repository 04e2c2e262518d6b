// Python objects to the tensors of a call.
#pragma once

#include <nanobind/nanobind.h>

#include "argument_names.hpp"
#include "call.hpp"

namespace wgrad::python {

/// The tensors of one Python call, as objects; None where absent.
struct Tensors {
  nanobind::handle a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
      workspace;
};

/// Reads every tensor of a call. Throws ValueError for what is none.
Arguments read_arguments(Api api, const Tensors& tensors);

/// Refuses a call whose output is not of `form`.
void need_output(OutputForm form, const Arguments& arguments);

/// Refuses torch tensors that require grad while gradients are recorded.
void check_grad(const Arguments& arguments);

}  // namespace wgrad::python
