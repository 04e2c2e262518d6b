// What is asked: Wgrad[e] = A[:, begin:end] @ B[begin:end, :] for every expert. No pointers, no
// device.
#pragma once

#include <cstdint>
#include <optional>

#include "wgrad/dtype.hpp"

namespace wgrad {

/// Which axis of an operand is contiguous. A is (M, T), B is (T, N).
enum class Major : std::uint8_t {
  kK,   ///< tokens contiguous: A strides (ld, 1), B strides (1, ld)
  kMn,  ///< M (of A) or N (of B) contiguous: A strides (1, ld), B strides (ld, 1)
};

/// How the experts' tokens lie in A and B.
enum class InputOrder : std::uint8_t {
  kTensor2d,      ///< one 2-D tensor each, with declared strides
  kTensorRagged,  ///< expert blocks one after another, K-contiguous with row pitch k_e
};

/// Where the E results go.
enum class OutputMode : std::uint8_t {
  kDense,     ///< one (E, M, N) tensor
  kDiscrete,  ///< E separate (M, N) tensors, reached through an array of addresses
};

/// How scale factors are stored.
enum class ScaleLayout : std::uint8_t {
  kSwizzled,  ///< per expert, atoms of 128 rows x 4 columns in 512 bytes (see scale_layout.hpp)
  kCompact,   ///< row-major (rows, cols), M rows for A and N for B; expert e's columns follow those
              ///< of e-1 without padding. Where a scale factor covers all tokens of an expert:
              ///< (E, rows)
};

/// ScaleSpec::vec_size: one scale factor a row and expert.
inline constexpr int kAllTokens = 0;

/// Scale factors: one per `vec_size` tokens of a row, which count from the expert's first.
struct ScaleSpec {
  DType dtype = DType::kE8m0;  ///< kE8m0 (MXFP8, MXFP4), kE4m3 (NVFP4) or kF32 (FP8 rowwise, 1x128)
  int vec_size = 32;  ///< 32 (MXFP8, MXFP4), 16 (FP4), 128 (FP8 1x128) or kAllTokens (FP8 rowwise)
  ScaleLayout layout = ScaleLayout::kSwizzled;
  bool global_scale = false;  ///< (E,) float32 factors for A and for B; required by NVFP4

  bool operator==(const ScaleSpec&) const = default;
};

/// The output tile of one step and the CTA cluster. (256, 256) with a zero cluster leaves the
/// choice to wgrad; see spec of `mma_tiler_mn` in docs/design/contract.md.
struct Tiling {
  int tile_m = 256;   ///< 128 or 256
  int tile_n = 256;   ///< 64, 128, 192 or 256 (block-scaled: 128 or 256)
  int cluster_m = 0;  ///< 0: wgrad chooses; else a power of two
  int cluster_n = 0;  ///< 0: wgrad chooses; else a power of two

  bool operator==(const Tiling&) const = default;
};

/// One grouped weight gradient. M, N and E are the same in every call; T may differ per call.
struct Problem {
  std::int64_t experts = 0;  ///< E, 1 or more
  std::int64_t m = 0;        ///< hidden size, rows of Wgrad[e]
  std::int64_t n = 0;        ///< intermediate size, columns of Wgrad[e]
  std::int64_t tokens = 0;   ///< T to plan for; each run brings its own

  DType a_dtype = DType::kBf16;
  DType b_dtype = DType::kBf16;
  Major a_major = Major::kMn;
  Major b_major = Major::kMn;
  InputOrder input_order = InputOrder::kTensor2d;
  std::optional<ScaleSpec> scales;  ///< set for MXFP8, MXFP4, NVFP4

  DType wgrad_dtype = DType::kBf16;  ///< kBf16, kF16 or kF32
  DType acc_dtype = DType::kF32;     ///< kF32, nothing else
  OutputMode output_mode = OutputMode::kDense;
  std::int64_t wgrad_expert_stride = 0;  ///< elements between experts (dense); 0: M * row pitch
  std::int64_t wgrad_row_pitch = 0;      ///< elements between rows; 0: N
  bool accumulate = false;               ///< Wgrad += result instead of Wgrad = result
  /// FP8 rowwise alone: sums may stay in the tensor cores' short accumulators, which keep about 13
  /// bits, for all tokens of an expert, instead of going to FP32 every 128 tokens.
  bool fast_accumulation = false;

  Tiling tiling;
  /// Every run brings Operands::workspace of Executable::workspace_bytes(). Few outputs of many
  /// tokens then take more of a GPU, and have other bits.
  bool workspace = false;

  bool operator==(const Problem&) const = default;
};

/// The element formats of the contract.
enum class Format : std::uint8_t {
  kSixteenBit,
  kMxfp8,
  kMxfp4,
  kNvfp4,
  kFp8Rowwise,  ///< FP8 with a float32 scale factor for each row and expert, which the sum takes
  kFp8Blocks,   ///< FP8 with a scale factor, float32 or e8m0, for 128 tokens of a row (1x128)
};

/// Format of a problem by its dtypes and scale spec; nullopt when they form none of them.
std::optional<Format> format_of(const Problem& problem) noexcept;

/// Whether its scale factors are those of kFp8Rowwise: (E, M) and (E, N).
constexpr bool scales_whole_rows(const Problem& p) noexcept {
  return p.scales && p.scales->vec_size == kAllTokens;
}
/// The formats beyond the contract's four: FP8 rowwise and 1x128.
constexpr bool is_fp8_by_rows(const Problem& p) noexcept {
  return p.scales && (p.scales->vec_size == kAllTokens || p.scales->vec_size == 128);
}

/// Elements between rows of Wgrad[e], with the default resolved.
constexpr std::int64_t row_pitch(const Problem& p) noexcept {
  return p.wgrad_row_pitch != 0 ? p.wgrad_row_pitch : p.n;
}

/// Elements between experts of a dense Wgrad, with the default resolved.
constexpr std::int64_t expert_stride(const Problem& p) noexcept {
  return p.wgrad_expert_stride != 0 ? p.wgrad_expert_stride : p.m * row_pitch(p);
}

}  // namespace wgrad
