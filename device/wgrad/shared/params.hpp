// What one launch passes to the kernel, by value (__grid_constant__); and the record a launch may
// leave a fault in.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

// The bytes of a CUtensorMap, which this header must not name. Copy them in with memcpy.
struct alignas(64) TensorMap {
  u64 opaque[16];
};

enum class FaultKind : i32 {
  kNone = 0,
  kOffsetDecreases = 1,   // value = offsets[expert], limit = offsets[expert - 1]
  kOffsetNegative = 2,    // value = offsets[expert], limit = 0
  kOffsetBeyond = 3,      // value = offsets[expert], limit = tokens
  kPointerNull = 4,       // value = wgrad_ptrs[expert] = 0
  kPointerAlignment = 5,  // value = wgrad_ptrs[expert], limit = 16
  kBeginOdd = 6,          // packed FP4: value = the expert's first token, limit = 2
  kScaleColumns = 7  // value = scale columns up to the expert's end, limit = those of the tensor
};

// Zero it before a launch; the first fault found wins (kind is written by compare-and-swap, the
// rest by the winner).
struct FaultRecord {
  i32 kind;  // FaultKind
  i32 expert;
  i64 value;
  i64 limit;
};

// Tiles that CTAs claim as they come free. Zero before a launch and after it: the last CTA to leave
// clears it. Launches that may run at the same time need one each.
struct alignas(8) ClaimCounters {
  u32 claimed;  // tiles
  u32 left;     // CTAs that have found nothing more to claim; kSumsReady on top
};
// Of ClaimCounters::left: the counters of partial sums are zero (common/token_parts.cuh).
inline constexpr u32 kSumsReady = 1u << 31;
inline constexpr i32 kClaimSlots = 16384;  // counters that come with a loaded kernel, zeroed

// Into how many parts an expert's tokens go whose sums meet in the workspace, which holds those of
// `sets` cluster tiles at a time, a multiple of an expert's (shared/token_split.hpp).
struct TokenSplit {
  u8 most;   // parts of an expert, 1 or more
  u8 least;  // tokens of a part, in units of 64: 1 or more
  u16 sets;  // 1 or more

  bool operator==(const TokenSplit&) const = default;
};

struct KernelParams {
  TensorMap map_a;    // unused (any bytes) for OperandLayout::kKMajorRagged
  TensorMap map_b;    // likewise
  TensorMap map_out;  // built by output_map; its base address is out_map_base

  u64 a;  // element addresses, read by the kKMajorRagged loader only
  u64 b;
  u64 offsets;       // const i32[experts], cumulative ends
  u64 out_map_base;  // the address map_out was encoded with (any 16-byte aligned device address)
  u64 wgrad;         // dense: address of expert 0
  i64 expert_stride_bytes;  // dense: a multiple of 16
  u64 wgrad_ptrs;           // discrete: const i64[experts] of addresses
  u64 fault;                // FaultRecord*, or 0
  u64 claims;               // ClaimCounters*, or 0: tiles are dealt out in turn

  i64 row_pitch_bytes;  // of the output, a multiple of 16

  i64 tokens;  // T, at most 2^31 - 1
  i32 m;
  i32 n;
  i32 experts;

  i32 token_alignment;  // k_major_alignment, least of the K-major operands'; below 8 counts as 8
  i32 raster_m;         // cluster rows of one raster group, >= 1 (see schedule.hpp)

  TokenSplit token_split;  // Config::workspace_split

  u64 trace;         // Config::trace: where the events go, zeroed
  u64 partial_sums;  // Config::workspace_split: partial_sum_bytes() of any contents
};

static_assert(sizeof(TensorMap) == 128 && alignof(TensorMap) == 64);
static_assert(sizeof(TokenSplit) == 4 && sizeof(FaultRecord) == 24 && sizeof(ClaimCounters) == 8);
static_assert(sizeof(KernelParams) == 512);  // the host and NVRTC lay it out alike

}  // namespace wgrad::shared
