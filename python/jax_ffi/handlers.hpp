// The stages of the custom call "wgrad" on each platform, for XLA to call.
#pragma once

#include <xla/ffi/api/ffi.h>

namespace wgrad::jax {

/// Prepares the operator.
XLA_FFI_Error* cpu_instantiate(XLA_FFI_CallFrame* frame);
/// Computes, with the threads of wgrad's own, before it returns.
XLA_FFI_Error* cpu_execute(XLA_FFI_CallFrame* frame);

/// Checks that a GPU of this machine can run the problem, and compiles its kernel.
XLA_FFI_Error* cuda_instantiate(XLA_FFI_CallFrame* frame);
/// Loads the kernel on the device, so that nothing is loaded while a command buffer is recorded.
XLA_FFI_Error* cuda_initialize(XLA_FFI_CallFrame* frame);
/// Launches on the execution's stream.
XLA_FFI_Error* cuda_execute(XLA_FFI_CallFrame* frame);

}  // namespace wgrad::jax
