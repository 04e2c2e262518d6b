#include "call/reference_words.hpp"

#include <algorithm>
#include <array>

namespace wgrad::call {
namespace {

struct Row {
  std::string_view rule, field, words;
};

constexpr std::string_view kConfiguration =
    "Unsupported BF16 grouped GEMM wgrad configuration: check mma_tiler, cluster, and alignment";

constexpr std::array kRows = {
    Row{"rank", "a", "sample_a must be rank-2; a_tensor and b_tensor must both be rank-2"},
    Row{"rank", "b", "sample_b must be rank-2; a_tensor and b_tensor must both be rank-2"},
    Row{"rank", "offsets",
        "offsets_tensor must be rank-1; offsets_tensor must be a contiguous rank-1 int32 tensor "
        "with "
        "one entry per expert"},
    Row{"rank", "wgrad", "sample_wgrad must be rank-3"},
    Row{"tokens", "b",
        "sample_a and sample_b token dimensions must match; a_tensor and b_tensor token dimensions "
        "must match"},
    Row{"layout", "a", "A tensor must use a supported K-major or M-major layout"},
    Row{"layout", "b", "B tensor must use a supported K-major or N-major layout"},
    Row{"layout", "offsets",
        "sample_offsets must be contiguous; offsets_tensor must be a contiguous rank-1 int32 "
        "tensor "
        "with one entry per expert"},
    Row{"layout", "wgrad",
        "sample_wgrad must be contiguous in expert/M/N order; wgrad_tensor must be contiguous in "
        "expert/M/N order"},
    Row{"shape", "wgrad", "sample_wgrad shape mismatch; wgrad_tensor shape mismatch"},
    Row{"shape", "wgrad_ptrs", "wgrad_ptrs length mismatch"},
    Row{"dtype", "offsets",
        "sample_offsets must be int32; offsets_tensor must be a contiguous rank-1 int32 tensor "
        "with "
        "one entry per expert"},
    Row{"shape", "offsets",
        "offsets_tensor must be a contiguous rank-1 int32 tensor with one entry per expert"},
    Row{"dtype", "wgrad", "wgrad_dtype must be bfloat16, float16, or float32"},
    Row{"dtype", "wgrad_ptrs", "wgrad_ptrs must be int64"},
    Row{"dtype", "sfa", "sample_sfa must have dtype float8_e8m0fnu or float8_e4m3fn"},
    Row{"dtype", "sfb", "sample_sfb must have dtype float8_e8m0fnu or float8_e4m3fn"},
    Row{"compiled-dtype", "a", "a_tensor dtype mismatch"},
    Row{"compiled-dtype", "b", "b_tensor dtype mismatch"},
    Row{"compiled-dtype", "wgrad", "wgrad_tensor dtype mismatch"},
    Row{"compiled-layout", "a", "a_tensor layout mismatch"},
    Row{"compiled-layout", "b", "b_tensor layout mismatch"},
    Row{"device", "a", "a_tensor device mismatch"},
    Row{"device", "b", "b_tensor device mismatch"},
    Row{"device", "offsets", "offsets_tensor device mismatch"},
    Row{"device", "wgrad", "wgrad_tensor device mismatch"},
    Row{"output", "wgrad",
        "Dense execution requires wgrad_tensor and forbids wgrad_ptrs; wgrad_tensor is required in "
        "dense mode"},
    Row{"tiling", "mma_tiler_mn", kConfiguration},
    Row{"cluster", "cluster_shape_mn", kConfiguration},
    Row{"scaled-tile-m", "mma_tiler_mn", "mma_tiler_mn[0] must be 128 or 256"},
    Row{"scaled-tile-n", "mma_tiler_mn", "mma_tiler_mn[1] must be 128 or 256"},
    Row{"scaled-cluster-pairs", "cluster_shape_mn",
        "cluster_shape_mn[0] must be divisible by 2 when use_2cta_instrs=True"},
    Row{"scaled-cluster-powers", "cluster_shape_mn", "cluster shape values must be powers of 2"},
    Row{"scaled-cluster-size", "cluster_shape_mn", "cluster shape product must be <= 16"},
    Row{"acc-dtype", "acc_dtype", "acc_dtype must be torch.float32"},
    Row{"global-scale", "global_scale",
        "NVFP4 wgrad requires sample_global_scale_a and sample_global_scale_b"},
    Row{"offset-decreases", "offsets", "offsets_tensor must be a non-decreasing cumulative sum"},
    Row{"offset-exceeds-tokens", "offsets",
        "offsets_tensor last value must not exceed total tokens"},
    Row{"wgrad-pointer", "wgrad_ptrs", "wgrad_ptrs entries must be non-null and 16-byte aligned"},
};

}  // namespace

std::string_view reference_words(const Reason& reason) {
  const std::string_view field = std::string_view(reason.field).substr(0, reason.field.find('['));
  const auto* const found = std::find_if(kRows.begin(), kRows.end(), [&](const Row& row) {
    return row.rule == reason.rule && row.field == field;
  });
  return found == kRows.end() ? "" : found->words;
}

}  // namespace wgrad::call
