// The package's torch_frontend.py, the only file that imports torch; reached only once a torch
// tensor has been seen.
#pragma once

#include <nanobind/nanobind.h>

#include <span>

#include "tensor_view.hpp"

namespace wgrad::python {

/// A function of wgrad.torch_frontend.
nanobind::object torch_frontend(const char* function);

/// Refuses a torch tensor that requires grad while gradients are recorded: the result would be
/// detached without a word.
void refuse_detached(const TensorView& view, const char* field);

/// Tells autograd which torch tensors among `views` were written, so that a backward pass that kept
/// the old values fails instead of using the new ones.
void mark_written(std::span<const TensorView> views);

}  // namespace wgrad::python
