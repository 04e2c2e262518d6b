// Which stream a call runs on.
#pragma once

#include <nanobind/nanobind.h>

#include "intake/intake.hpp"

namespace wgrad::python {

/// The CUstream behind `stream`: an integer handle, a torch stream, a cuda-bindings CUstream, or
/// anything with `__cuda_stream__`. None means torch's current stream on `place`, that of `a`,
/// where `a` is a torch tensor, else the legacy default stream. On a CPU only None is accepted.
void* stream_handle(nanobind::handle stream, const call::Place& place, const Origin& a);

}  // namespace wgrad::python
