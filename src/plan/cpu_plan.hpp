// How the CPU backend cuts a problem into library matmuls.
#pragma once

#include <cstdint>
#include <string>

#include "wgrad/device_spec.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::plan {

/// A (tile_m, tile_n) block of one expert's output is computed `tile_k` tokens at a time, in
/// library calls of call_rows() rows; by one thread, or by several, each some of the calls. Tiles
/// never depend on threads, experts or tokens, nor calls on other experts' tokens, so neither do
/// results.
struct CpuConfig {
  std::int64_t tile_m = 0;
  std::int64_t tile_n = 0;
  std::int64_t tile_k = 0;
  std::int64_t call_m = 0;       ///< rows of a call for an expert with fewer than tile_k tokens
  std::int64_t deep_call_m = 0;  ///< for the others: a call that deep costs little to make
  int threads = 1;
  bool native_bf16 =
      false;  ///< the library multiplies bf16 here; else tiles are widened to float32

  bool operator==(const CpuConfig&) const = default;
};

/// The best configuration for `problem` on a CPU `device`.
CpuConfig plan_cpu(const Problem& problem, const DeviceSpec& device);

/// Rows that one library call multiplies for an expert with `tokens`. A thread computes whole
/// calls, so threads can share the tiles of one expert that has most of the tokens.
std::int64_t call_rows(const CpuConfig& config, std::int64_t tokens);

/// Native tiles are multiples of this many tokens deep, the last one padded with zeros.
constexpr std::int64_t kTokenStep = 32;

/// Native tiles of B are padded to a multiple of this many columns.
constexpr std::int64_t kPackedColumns = 64;

/// What each thread that works on a run keeps between runs: two operand tiles and a float32 result.
/// Leading dimensions are those of float32 tiles; native ones have no gaps.
struct CpuScratch {
  std::int64_t a_ld = 0;  ///< tile elements between lines: rows of tokens, or tokens of rows
  std::int64_t b_ld = 0;
  std::int64_t c_ld = 0;
  std::int64_t a_bytes = 0;
  std::int64_t b_bytes = 0;
  std::int64_t c_bytes = 0;

  std::int64_t total_bytes() const noexcept { return a_bytes + b_bytes + c_bytes; }
};
CpuScratch scratch(const CpuConfig& config, const Problem& problem);

std::string summary(const CpuConfig& config, const Problem& problem);

}  // namespace wgrad::plan
