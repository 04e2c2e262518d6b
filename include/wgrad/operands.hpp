// The data of one run: addresses, sizes that follow the token count, stream. No configuration.
#pragma once

#include <cstdint>

namespace wgrad {

/// Addresses live on the device that runs the problem: device memory for CUDA (offsets, scales and
/// wgrad_ptrs too), host memory for the CPU. Unless stated, a pointer may be null only where its
/// extent is zero or the problem does not use it.
struct Operands {
  std::int64_t tokens = 0;  ///< T of this call: rows of the token axis of A and B

  const void* a = nullptr;  ///< (M, T), 16-byte aligned
  const void* b = nullptr;  ///< (T, N), 16-byte aligned
  /// Elements between rows of the strided axis; 0: packed. Ignored for a K-major ragged operand.
  /// FP4 operands count elements, not bytes.
  std::int64_t a_ld = 0;
  std::int64_t b_ld = 0;
  const std::int32_t* offsets = nullptr;  ///< (E,) cumulative ends

  const void* sfa = nullptr;  ///< scale factors of A, one byte each, or a float32
  const void* sfb = nullptr;  ///< of B
  /// Columns of the scale storage: round_up(rows, 128) x cols bytes swizzled, rows x cols compact,
  /// with M rows in A's and N in B's. E where a scale factor covers all tokens of an expert.
  std::int64_t sfa_cols = 0;
  std::int64_t sfb_cols = 0;
  /// (E,) factors of the result. Where a sum is 0 the result is 0 whatever the global scales are
  /// (an all-zero expert stays zero under an infinite one); elsewhere IEEE arithmetic holds.
  const float* global_scale_a = nullptr;
  const float* global_scale_b = nullptr;  ///< (E,)

  void* wgrad = nullptr;                     ///< dense output, 16-byte aligned
  const std::int64_t* wgrad_ptrs = nullptr;  ///< (E,) addresses of a discrete output

  /// Device bytes of any contents, at least Executable::workspace_bytes(), that no other run uses
  /// until this one has ended; optional unless Problem::workspace says otherwise.
  void* workspace = nullptr;
  std::int64_t workspace_bytes = 0;
  void* stream = nullptr;  ///< CUstream; ignored by the CPU
  int device = -1;         ///< CUDA ordinal; -1: the device that `offsets` is on
};

}  // namespace wgrad
