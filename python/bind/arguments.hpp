// Python objects to the tensors of a call.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "call/call.hpp"
#include "intake/intake.hpp"

namespace wgrad::python {

/// The tensors and the stream of one Python call, as objects; None where absent.
struct Objects {
  nanobind::object a, b, sfa, sfb, offsets, wgrad, wgrad_ptrs, global_scale_a, global_scale_b,
      workspace, stream;
};

/// Those of `given`, the arguments of a function by the names that `api` has for them. A list as
/// the output of grouped_wgrad() is its wgrad_ptrs.
Objects objects_of(call::Api api, const nanobind::dict& given);

/// The same, read: what the library sees, and beside it what is their frameworks' business.
struct Arguments {
  call::Tensors tensors;
  Origin a, b, wgrad, wgrad_ptrs;
  std::vector<Origin> outputs;
  call::Reasons without_memory;         ///< which of them cannot be used, but described
  std::vector<nanobind::object> keeps;  ///< keep temporary views alive
};

/// Reads every tensor of a call into `in`, which is empty. Adds to `reasons` what is none.
void read_arguments(Arguments& in, call::Api api, const Objects& objects, call::Reasons& reasons);

/// Reads an output that was made after the rest had been read.
void read_output(Arguments& in, nanobind::handle wgrad);

}  // namespace wgrad::python
