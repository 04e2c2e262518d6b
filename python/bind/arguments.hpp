// Python objects to the tensors of a call.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "call/call.hpp"
#include "intake/intake.hpp"

namespace wgrad::python {

/// The tensors of one Python call, as objects; None where absent.
struct Objects {
  nanobind::handle a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
      workspace;
};

/// The same, read: what the library sees, and beside it what is their frameworks' business.
struct Arguments {
  call::Tensors tensors;
  Origin a, b, wgrad, wgrad_ptrs;
  std::vector<Origin> outputs;
  std::vector<nanobind::object> keeps;  ///< keep temporary views alive
};

/// Reads every tensor of a call. Adds to `reasons` what is none.
Arguments read_arguments(call::Api api, const Objects& objects, call::Reasons& reasons);

/// Reads an output that was made after the rest had been read.
void read_output(Arguments& in, nanobind::handle wgrad);

}  // namespace wgrad::python
