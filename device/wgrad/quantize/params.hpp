// What a launch that quantises is told, and the table of experts that the first launch of a call
// writes for the others.
#pragma once

#include "wgrad/quantize/config.hpp"

namespace wgrad::shared {

// One (rows, tokens) matrix and where its parts go.
struct QuantizeOperand {
  u64 source;        // element (r, t) at (r * row_stride + t * token_stride) elements
  u64 elements;      // as the major and the order of the call say
  u64 scales;        // one byte each
  u64 global_given;  // const float[experts], or 0: computed
  u64 global_out;    // float[experts], NVFP4
  u64 amax;          // u32[experts], bits of floats: largest finite magnitudes; in the workspace
  u64 seed;          // of stochastic rounding
  i64 rows;
  i64 row_stride;
  i64 token_stride;
  i64 row_tiles;  // of kUnitRows rows, those of the scale factors' padding among them
};

struct QuantizeParams {
  QuantizeOperand operand[2];
  u64 offsets;     // const i32[experts], cumulative ends
  u64 table;       // QuantizeExpert[experts + 2], 16-byte aligned
  u64 fault;       // FaultRecord*, or 0
  i64 tokens;      // T, at most 2^31 - 1
  i64 scale_cols;  // of the scale tensors: at least as many as any offsets need
  i32 experts;
  i32 operands;   // 1 or 2
  i32 vec_size;   // tokens under one scale factor
  u32 is_packed;  // FP4
  u32 is_compact;
  u32 is_ragged;
  u32 rounds_up;  // e8m0: ScalingMode::kRceil
  u32 padding;    // byte where the scale tensors pad
  u32 signs;      // hadamard: bit j: token j of a block is negated first
};
static_assert(sizeof(QuantizeParams) <= 512);

// One expert, or (the last but one entry) what follows the last expert: tokens whose elements
// become zero, scale columns that are padding. The last entry has sums alone.
struct alignas(16) QuantizeExpert {
  i32 begin;
  i32 end;
  i32 first_unit;  // units of kUnitTokens tokens before it
  i32 first_col;   // scale columns before it
};
static_assert(sizeof(QuantizeExpert) == 16);

}  // namespace wgrad::shared
