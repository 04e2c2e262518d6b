// Python objects to descriptions of tensors.
#pragma once

#include <nanobind/nanobind.h>

#include "call/tensor_view.hpp"
#include "intake/dlpack_abi.hpp"

namespace wgrad::python {

/// What of a tensor is its framework's business.
struct Origin {
  nanobind::handle object;  ///< what was given; alive while the call lasts
  bool torch = false;       ///< it may require grad, and it knows its streams
  const dlpack::ExchangeApi* exchange = nullptr;
};

/// A tensor of any framework, read: no copy, no ownership of the data.
struct Intake {
  call::TensorView view;
  Origin origin;
  nanobind::object keeps;  ///< keeps a temporary view of it alive
};

/// Reads `object`, called `field` by the core. Throws ValueError for what is no tensor.
Intake read_tensor(nanobind::handle object, const char* field);

/// Refuses a tensor that has elements and no memory: a fake or functional one, one whose storage
/// was freed. What only describes a call may be one.
void need_memory(const Intake& in, const char* field);

// Each way to read one. `origin` is set; the functions fill in the rest.

/// DLPack's C exchange interface (torch 2.10 and later): one C call, no Python object made.
void read_by_exchange(Intake& in, const char* field);
/// numpy's `__array_struct__`, which unlike the buffer protocol carries ml_dtypes.
void read_by_array_struct(Intake& in, const char* field);
/// data_ptr(), shape, stride(), dtype, device: older torch.
void read_by_attributes(Intake& in);
/// `__dlpack__` of any other framework; the capsule is kept while the view lives.
void read_by_dlpack(Intake& in, const char* field);
/// memoryview, array.array, ...: host memory.
void read_by_buffer(Intake& in, const char* field);

}  // namespace wgrad::python
