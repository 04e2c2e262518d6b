#include "validate/problem_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "core/counted.hpp"
#include "validate/enumerator_rule.hpp"
#include "validate/output_rules.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::validate {
namespace {

using Reasons = std::vector<Reason>;

bool is_power_of_two(int v) {
  return v > 0 && (v & (v - 1)) == 0;
}

void check_extent(Reasons& out, const char* field, std::int64_t got, std::int64_t least) {
  if (got < least || got > kMaxExtent) {
    out.push_back(
        {"extent", field, fmt::format("{}", got), fmt::format("from {} to {}", least, kMaxExtent)});
  }
}

void check_extents(Reasons& out, const Problem& p) {
  check_extent(out, "num_experts", p.experts, 1);
  check_extent(out, "m", p.m, 1);
  check_extent(out, "n", p.n, 1);
  check_extent(out, "tokens", p.tokens, 0);
}

void check_enumerators(Reasons& out, const Problem& p) {
  check_enumerator(out, "a_dtype", p.a_dtype);
  check_enumerator(out, "b_dtype", p.b_dtype);
  check_enumerator(out, "a_major", p.a_major);
  check_enumerator(out, "b_major", p.b_major);
  check_enumerator(out, "input_order", p.input_order);
  if (p.scales) {
    check_enumerator(out, "scale_dtype", p.scales->dtype);
    check_enumerator(out, "scale_layout", p.scales->layout);
  }
  check_enumerator(out, "wgrad_dtype", p.wgrad_dtype);
  check_enumerator(out, "acc_dtype", p.acc_dtype);
  check_enumerator(out, "output_mode", p.output_mode);
}

/// Of one scale factor for 128 tokens or a whole row: unswizzled, and the latter's only one.
void check_scales_by_rows(Reasons& out, const ScaleSpec& scales) {
  const bool whole = scales.vec_size == kAllTokens;
  const char* const format = whole ? "FP8 rowwise" : "FP8 1x128";
  if (scales.layout != ScaleLayout::kCompact) {
    out.push_back(
        {"scale-layout", "scale_layout", "swizzled", fmt::format("compact for {}", format)});
  }
  if (whole && scales.global_scale) {
    out.push_back({"global-scale", "global_scale", "given",
                   "absent for FP8 rowwise, whose scale factors are as wide"});
  }
}

void check_scales(Reasons& out, const ScaleSpec& scales, DType element) {
  const bool nvfp4 = scales.dtype == DType::kE4m3;
  const bool f32 = scales.dtype == DType::kF32;
  const bool fp4 = element == DType::kE2m1;
  const int vec = scales.vec_size;
  const bool right = f32     ? vec == 128 || vec == kAllTokens
                     : nvfp4 ? vec == 16
                             : vec == 32 || vec == (fp4 ? 16 : 128);
  if (!right) {
    const char* const need = f32     ? "128, or left out for one a row and expert,"
                             : nvfp4 ? "16"
                             : fp4   ? "16 or 32"
                                     : "32 or 128";
    out.push_back({"sf-vec-size", "sf_vec_size", fmt::format("{}", vec),
                   fmt::format("{} for {} elements with {} scale factors", need, name(element),
                               name(scales.dtype))});
  } else if (f32 || vec == 128) {
    check_scales_by_rows(out, scales);
  }
  if (nvfp4 && !scales.global_scale) {
    out.push_back({"global-scale", "global_scale", "absent",
                   "given for both operands, (E,) float32, in the NVFP4 format"});
  }
}

void check_format(Reasons& out, const Problem& p) {
  if (!format_of(p)) {
    out.push_back({"format", "dtypes",
                   fmt::format("A {}, B {}, scale factors {}", name(p.a_dtype), name(p.b_dtype),
                               p.scales ? name(p.scales->dtype) : "none"),
                   "A and B both bfloat16 or both float16 without scale factors; float8_e4m3fn or "
                   "float8_e5m2 with float8_e8m0fnu or float32 scale factors; or float4_e2m1fn_x2 "
                   "with float8_e8m0fnu or float8_e4m3fn scale factors"});
    return;
  }
  if (p.scales) check_scales(out, *p.scales, p.a_dtype);
  const auto check_major = [&](const char* field, DType dtype, Major major) {
    if (major == Major::kK) return;
    if (dtype == DType::kE2m1) {
      out.push_back({"fp4-major", field, "MN-major", "K-major (tokens contiguous) for packed FP4"});
    } else if (is_fp8_by_rows(p)) {
      out.push_back({"fp8-major", field, "MN-major",
                     "K-major (tokens contiguous) for FP8 rowwise and 1x128"});
    }
  };
  check_major("a", p.a_dtype, p.a_major);
  check_major("b", p.b_dtype, p.b_major);
}

void check_accumulation(Reasons& out, const Problem& p) {
  if (!p.fast_accumulation || format_of(p) == Format::kFp8Rowwise) return;
  out.push_back({"fast-accumulation", "fast_accumulation", "True",
                 "False: FP8 rowwise alone has sums that may stay in short accumulators"});
}

void check_tile(Reasons& out, const Problem& p) {
  const Tiling& t = p.tiling;
  const bool m_ok = t.tile_m == 128 || t.tile_m == 256;
  const bool n_ok = t.tile_n == 128 || t.tile_n == 256;
  const std::string got = fmt::format("({}, {})", t.tile_m, t.tile_n);
  if (!p.scales) {
    if (!m_ok || (!n_ok && t.tile_n != 64 && t.tile_n != 192)) {
      out.push_back({"tiling", "mma_tiler_mn", got, "M 128 or 256 and N 64, 128, 192 or 256"});
    }
    return;
  }
  constexpr const char* kNeed = "M 128 or 256 and N 128 or 256 in a block-scaled format";
  if (!m_ok) out.push_back({"scaled-tile-m", "mma_tiler_mn", got, kNeed});
  if (!n_ok) out.push_back({"scaled-tile-n", "mma_tiler_mn", got, kNeed});
}

void check_cluster(Reasons& out, const Problem& p) {
  const Tiling& t = p.tiling;
  if (t.cluster_m == 0 && t.cluster_n == 0) return;
  const char* rule = nullptr;
  if (t.tile_m == 256 && t.cluster_m % 2 != 0) {
    rule = "scaled-cluster-pairs";
  } else if (!is_power_of_two(t.cluster_m) || !is_power_of_two(t.cluster_n)) {
    rule = "scaled-cluster-powers";
  } else if (t.cluster_m > 16 / t.cluster_n) {
    rule = "scaled-cluster-size";
  } else {
    return;
  }
  out.push_back({p.scales ? rule : "cluster", "cluster_shape_mn",
                 fmt::format("({}, {}) with mma_tiler_mn ({}, {})", t.cluster_m, t.cluster_n,
                             t.tile_m, t.tile_n),
                 "powers of two with a product of at most 16, M even when the tile's M is 256"});
}

/// Whether a reason in `out` is about one of `fields`.
bool names(const Reasons& out, std::initializer_list<std::string_view> fields) {
  return std::any_of(out.begin(), out.end(), [&](const Reason& reason) {
    return std::find(fields.begin(), fields.end(), reason.field) != fields.end();
  });
}

}  // namespace

std::vector<Reason> broken_rules(const Problem& problem) {
  Reasons out;
  check_extents(out, problem);
  check_enumerators(out, problem);
  // Rules that tell enumerators apart or multiply extents are left out where those make no sense.
  const bool formats = !names(out, {"a_dtype", "b_dtype", "scale_dtype", "a_major", "b_major"});
  const bool output = !names(out, {"acc_dtype", "wgrad_dtype"});
  const bool strides = !names(out, {"num_experts", "m", "n", "output_mode"});
  if (formats) check_format(out, problem);
  if (formats) check_accumulation(out, problem);
  if (output) check_output_dtypes(out, problem);
  if (output && strides && is_output(problem.wgrad_dtype)) check_output_strides(out, problem);
  check_tile(out, problem);
  check_cluster(out, problem);
  return out;
}

bool operands_can_be_judged(const Problem& problem) {
  Reasons unfit;
  check_extents(unfit, problem);
  check_enumerators(unfit, problem);
  return unfit.empty() && is_output(problem.wgrad_dtype);
}

}  // namespace wgrad::validate
