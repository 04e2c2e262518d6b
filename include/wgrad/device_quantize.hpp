// Quantisation along tokens where the data is: on a CUDA device, without waiting for it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "wgrad/dtype.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad {

/// One (rows, tokens) matrix in device memory, and where its quantised form goes.
struct DeviceQuantizeOperand {
  const void* source = nullptr;  ///< element (r, t) at r * row_stride + t * token_stride elements
  std::int64_t rows = 0;
  std::int64_t row_stride = 1;
  std::int64_t token_stride = 0;
  void* elements = nullptr;  ///< rows * T codes of 8 bits; FP4: rows * T / 2 bytes
  void* scales = nullptr;    ///< scale_bytes(rows, scale_cols, layout); swizzled: on 16 bytes
  const float* given_global_scales = nullptr;  ///< (E,), NVFP4; null: they are computed
  float* global_scales = nullptr;              ///< (E,), NVFP4: what was computed, or given
};

/// One call. Operands share all but what DeviceQuantizeOperand has.
struct DeviceQuantization {
  QuantizeSpec spec;  ///< `global_scales` must be empty. A second operand rounds at random by
                      ///< stochastic_seed + 1
  DType source_dtype = DType::kBf16;  ///< kBf16, kF16 or kF32
  std::int64_t tokens = 0;
  std::int64_t experts = 0;
  const std::int32_t* offsets = nullptr;  ///< (E,), cumulative ends, on the device
  std::int64_t scale_cols = 0;  ///< of the scale tensors; device_scale_cols() or more, and in the
                                ///< swizzled layout a multiple of 4
  void* workspace = nullptr;    ///< quantize_workspace_bytes(), on 16 bytes; free once the stream's
                                ///< work is done
  std::span<const DeviceQuantizeOperand> operands;  ///< one or two
  int device = -1;                                  ///< CUDA ordinal; -1: that of `offsets`
  void* stream = nullptr;
};

/// Scale columns that suffice for any offsets of `experts` experts with `tokens` tokens.
std::int64_t device_scale_cols(std::int64_t tokens, std::int64_t experts, int vec_size,
                               ScaleLayout layout) noexcept;

/// Device bytes of DeviceQuantization::workspace.
std::int64_t quantize_workspace_bytes(std::int64_t experts) noexcept;

/// quantize_along_tokens() on the device, bit for bit; the scale tensors are as wide as
/// `scale_cols` says, and what no expert's scale factors take up holds `spec.scale_padding`.
/// Neither waits nor allocates device memory, and can be captured into a CUDA graph.
///
/// Throws what quantize_along_tokens() does but for the offsets, which it does not see: experts
/// whose offsets decrease, are negative or exceed `tokens` are cut off, and those of packed FP4
/// that share a byte with another are left out; quantize_fault() tells. With WGRAD_VALIDATE=1 they
/// are read back and refused (it waits, and refuses a capturing stream). Throws ValueError for
/// operands that are null, misaligned or too many, and RuntimeError for a device without kernels
/// (they are for SM 9.0) and where a CUDA call fails.
void quantize_along_tokens(const DeviceQuantization& call);

/// First fault in offsets that quantize_along_tokens() met on a device since the process began or
/// since clear_quantize_fault(). Waits for nothing.
std::optional<DeviceFault> quantize_fault();
void clear_quantize_fault();

}  // namespace wgrad
