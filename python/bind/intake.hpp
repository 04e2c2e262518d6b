// Each way to read a tensor. `view.object` is set; the functions fill in the rest.
#pragma once

#include "tensor_view.hpp"

namespace wgrad::python {

/// DLPack's C exchange interface (torch 2.10 and later): one C call, no Python object made.
void read_by_exchange(TensorView& view, const char* field);
/// numpy's `__array_struct__`, which unlike the buffer protocol carries ml_dtypes.
void read_by_array_struct(TensorView& view, const char* field);
/// data_ptr(), shape, stride(), dtype, device: older torch.
void read_by_attributes(TensorView& view);
/// `__dlpack__` of any other framework; the capsule is kept while the view lives.
void read_by_dlpack(TensorView& view, const char* field);
/// memoryview, array.array, ...: host memory.
void read_by_buffer(TensorView& view, const char* field);

}  // namespace wgrad::python
