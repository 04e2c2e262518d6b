// What every family's kernel is told of a call.
#pragma once

#include <cstdint>

#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::kernels {

inline std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// The addresses of operands and outputs, their strides and extents. Not the maps, the raster and
/// what a launcher adds.
inline void set_call(shared::KernelParams& k, const Problem& p, const Operands& o) {
  const std::int64_t size = bits(p.wgrad_dtype) / 8;
  k.a = address(o.a);
  k.b = address(o.b);
  k.offsets = address(o.offsets);
  k.wgrad = address(o.wgrad);
  k.wgrad_ptrs = address(o.wgrad_ptrs);
  // Any aligned address of the device will do where there is no dense output.
  k.out_map_base = o.wgrad != nullptr ? k.wgrad : k.wgrad_ptrs / 16 * 16;
  k.expert_stride_bytes = expert_stride(p) * size;
  k.row_pitch_bytes = row_pitch(p) * size;
  k.tokens = o.tokens;
  k.m = static_cast<shared::i32>(p.m);
  k.n = static_cast<shared::i32>(p.n);
  k.experts = static_cast<shared::i32>(p.experts);
}

}  // namespace wgrad::kernels
