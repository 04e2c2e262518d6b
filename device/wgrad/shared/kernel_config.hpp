// What follows from the config of a kernel of any family: its tile, its operands, its output, the
// cluster it runs in. A family adds functions of its config beside it, which these rooms find by
// its namespace.
#pragma once

#include "wgrad/shared/operand.hpp"

namespace wgrad::shared {

// Fields that every family's config has; sm90/config.hpp says what they mean.
template <typename C>
concept TileConfig = requires(const C& c) {
  c.tile_m + c.tile_n + c.tile_k + c.stages + c.cluster_m + c.split_k + c.ring_slots;
  bits_of(c.input) + bytes_of(c.output);
  is_mn_major(c.a) && is_mn_major(c.b);
  c.output_mode == OutputMode::kDense;
  c.accumulate&& c.partial_columns&& c.trace;
};

// What the roles in common/ ask beside.
template <typename C>
concept KernelConfig = TileConfig<C> && requires(const C& c) {
  threads_per_cta(c) + math_warps(c);
  tiles_at_once(c);  // that a CTA has side by side
  stage_readers(c);  // CTAs that a stage's multicast part is sent to
  reaches_other_ctas(c);
  b_box_tokens(c) + b_box_rows(c) + output_box_rows(c);
  smem_table(c).total;  // shared/smem_table.hpp
};

template <TileConfig C>
constexpr u32 a_stage_bytes(const C& c) {
  return static_cast<u32>(bytes_of(c.tile_m * c.tile_k, bits_of(c.input)));
}
template <TileConfig C>
constexpr u32 b_stage_bytes(const C& c) {
  return static_cast<u32>(bytes_of(c.tile_n * c.tile_k, bits_of(c.input)));
}

// Who fills a stage: the copy engine, threads, or both.
template <TileConfig C>
constexpr bool uses_loader(const C& c) {
  return c.a == OperandLayout::kKMajorRagged || c.b == OperandLayout::kKMajorRagged;
}
template <TileConfig C>
constexpr bool uses_tma(const C& c) {
  return c.a != OperandLayout::kKMajorRagged || c.b != OperandLayout::kKMajorRagged;
}

// Who completes a phase of a stage's `full` barrier: one arrival of the thread that drives the copy
// engine, one of each thread that copies.
template <TileConfig C>
constexpr u32 full_arrivals(const C& c) {
  return (uses_tma(c) ? 1 : 0) + (uses_loader(c) ? u32{kWarpgroupThreads} : 0);
}

// The k loop starts at begin rounded down to kTokenAlignment when a K-major box load needs an
// aligned first byte.
template <TileConfig C>
constexpr bool aligns_first_token(const C& c) {
  return c.a == OperandLayout::kKMajor || c.b == OperandLayout::kKMajor;
}
// Rows of a K-major stage may have to move before they are multiplied (common/align.cuh).
template <TileConfig C>
constexpr bool moves_rows(const C& c) {
  return !is_mn_major(c.a) || !is_mn_major(c.b);
}

template <TileConfig C>
constexpr i32 cluster_ctas(const C& c) {
  return c.cluster_m * c.split_k;
}

// Two CTAs multiply together, by instructions that one of them issues: on SM 10.0 alone.
template <TileConfig C>
constexpr bool multiplies_in_pairs(const C&) {
  return false;
}

// CTAs that every chip with clusters has room for in one.
inline constexpr i32 kMostShares = 8;

// Tiles are claimed as CTAs, or clusters, come free. Threads that copy must not wait for another
// CTA's scheduler: clusters of them are dealt tiles in turn.
template <TileConfig C>
constexpr bool claims_tiles(const C& c) {
  return cluster_ctas(c) == 1 || reaches_other_ctas(c);
}
template <TileConfig C>
constexpr bool claims_together(const C& c) {
  return cluster_ctas(c) > 1 && reaches_other_ctas(c);
}

template <TileConfig C>
constexpr i32 output_bytes(const C& c) {
  return bytes_of(c.output);
}
template <TileConfig C>
constexpr i32 output_box_columns(const C& c) {
  return kSwizzleBytes / output_bytes(c);
}
template <TileConfig C>
constexpr i32 output_boxes(const C& c) {
  return c.tile_n / output_box_columns(c);
}
template <TileConfig C>
constexpr i32 output_box_bytes(const C& c) {
  return output_box_rows(c) * kSwizzleBytes;
}

// Parts of an expert's tokens are work of their own, for CTAs of any cluster; their sums meet in
// the workspace (shared/token_split.hpp).
template <TileConfig C>
constexpr bool splits_in_workspace(const C& c) {
  if constexpr (requires { c.workspace_split; }) return c.workspace_split;
  return false;
}

// split_k: neighbouring boxes of a tile that one CTA of the cluster adds up and writes out; the
// last ones may have none.
template <TileConfig C>
constexpr i32 boxes_per_cta(const C& c) {
  return ceil_div(output_boxes(c), c.split_k);
}

// The copy engine writes whole 16-byte units of a row, also past the end of a map: only this many
// columns are its.
template <TileConfig C>
constexpr i32 boxed_columns(const C& c, i32 n) {
  const i32 unit = 16 / output_bytes(c);
  return c.partial_columns ? n - n % unit : n;
}

// FP32 accumulates by bulk reduce-add; 16-bit outputs read the destination, add in FP32 and round
// once.
template <TileConfig C>
constexpr bool reduces_output(const C& c) {
  return c.accumulate && c.output == OutputType::kFp32;
}
template <TileConfig C>
constexpr bool reads_output(const C& c) {
  return c.accumulate && !reduces_output(c);
}

}  // namespace wgrad::shared
