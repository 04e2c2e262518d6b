// All that the extension asks of torch, by way of the package's module for it, which is imported
// once a torch tensor has been seen.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

#include "arguments.hpp"

namespace wgrad::python {

/// Refuses a torch tensor that requires grad while gradients are recorded: the result would be
/// detached without a word.
void refuse_detached(const Origin& tensor, const char* field);
/// The same of all that a call reads and writes.
void refuse_detached(const Arguments& in);

/// Handle of torch's current stream on CUDA device `ordinal`.
void* current_torch_stream(int ordinal);

/// Bytes of any contents on the call's device, taken on the launch stream, which is torch's current
/// one unless `given`.
nanobind::object new_workspace(std::int64_t bytes, const call::Call& call, bool given);

/// Separate CUDA outputs: their addresses as a tensor on the device, filled on the launch stream.
nanobind::object device_table(const call::Call& call);
/// torch must not reuse a table of pointers before the stream has got past now.
void record_table(nanobind::handle table, const call::Call& call);

/// Tells autograd which torch tensors were written, so that a backward pass that kept the old
/// values fails instead of using the new ones.
void mark_written(const Arguments& in);

}  // namespace wgrad::python
