// The buffers of one custom call as Operands.
#pragma once

#include <xla/ffi/api/ffi.h>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::jax {

/// Arguments in this order, those that the problem has: a, b, offsets; sfa, sfb; global_scale_a,
/// global_scale_b; wgrad_ptrs (discrete), or the array whose memory the output takes. All are
/// row-major: an MN-major A is (T, M), a K-major one (M, T); B is (T, N) or (N, T); FP4 has two
/// tokens a byte. The one result is the output (E, M, N), or in discrete mode the token.
///
/// Throws ValueError for another number of buffers, or an output in other memory than that of the
/// array it should take.
Operands read_buffers(const Problem& problem, xla::ffi::RemainingArgs arguments,
                      xla::ffi::RemainingRets results);

}  // namespace wgrad::jax
