#include "harness/cases/case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>

namespace wgrad::harness {

std::int64_t covered_tokens(const Case& c) {
  return std::accumulate(c.counts.begin(), c.counts.end(), std::int64_t{0});
}

std::int64_t tokens(const Case& c) {
  const std::int64_t t = covered_tokens(c) + c.slack;
  return c.problem.a_dtype == DType::kE2m1 ? t + t % 2 : t;
}

std::vector<std::int32_t> offsets(const Case& c) {
  std::vector<std::int32_t> ends;
  std::int64_t end = 0;
  for (const std::int64_t count : c.counts) {
    ends.push_back(static_cast<std::int32_t>(end += count));
  }
  return ends;
}

Problem problem(const Case& c) {
  Problem p = c.problem;
  p.experts = static_cast<std::int64_t>(c.counts.size());
  p.tokens = tokens(c);
  return p;
}

const std::vector<NamedFormat>& formats() {
  static const std::vector<NamedFormat> kFormats = {
      {"bf16", DType::kBf16, DType::kBf16, Format::kSixteenBit},
      {"fp16", DType::kF16, DType::kF16, Format::kSixteenBit},
      {"mxfp8_e4m3", DType::kE4m3, DType::kE4m3, Format::kMxfp8},
      {"mxfp8_e5m2", DType::kE5m2, DType::kE5m2, Format::kMxfp8},
      {"mxfp8_e4m3_e5m2", DType::kE4m3, DType::kE5m2, Format::kMxfp8},
      {"mxfp4", DType::kE2m1, DType::kE2m1, Format::kMxfp4},
      {"mxfp4_16", DType::kE2m1, DType::kE2m1, Format::kMxfp4, 16},
      {"nvfp4", DType::kE2m1, DType::kE2m1, Format::kNvfp4},
      {"fp8_rowwise", DType::kE4m3, DType::kE4m3, Format::kFp8Rowwise, kAllTokens, DType::kF32},
      {"fp8_rowwise_e5m2", DType::kE4m3, DType::kE5m2, Format::kFp8Rowwise, kAllTokens,
       DType::kF32},
      {"fp8_1x128", DType::kE4m3, DType::kE4m3, Format::kFp8Blocks, 128, DType::kF32},
      {"fp8_1x128_e8m0", DType::kE5m2, DType::kE4m3, Format::kFp8Blocks, 128, DType::kE8m0},
  };
  return kFormats;
}

bool is_k_major(const NamedFormat& format) {
  return format.a == DType::kE2m1 || format.format == Format::kFp8Rowwise ||
         format.format == Format::kFp8Blocks;
}

bool has_swizzled_scales(const NamedFormat& format) {
  return format.format == Format::kMxfp8 || format.format == Format::kMxfp4 ||
         format.format == Format::kNvfp4;
}

Problem problem_of(const NamedFormat& format, std::int64_t m, std::int64_t n) {
  Problem p;
  p.m = m;
  p.n = n;
  p.a_dtype = format.a;
  p.b_dtype = format.b;
  if (format.format == Format::kMxfp8 || format.format == Format::kMxfp4) {
    p.scales = ScaleSpec{DType::kE8m0, format.vec_size};
  }
  if (format.format == Format::kNvfp4) {
    p.scales = ScaleSpec{DType::kE4m3, 16, ScaleLayout::kSwizzled, true};
  }
  if (format.format == Format::kFp8Rowwise || format.format == Format::kFp8Blocks) {
    p.scales = ScaleSpec{format.scale_dtype, format.vec_size, ScaleLayout::kCompact};
  }
  if (is_k_major(format)) p.a_major = p.b_major = Major::kK;
  return p;
}

std::vector<Case> input_variants(const NamedFormat& format, std::int64_t m, std::int64_t n,
                                 const std::vector<std::int64_t>& counts) {
  std::vector<Case> cases;
  for (const InputOrder order : {InputOrder::kTensor2d, InputOrder::kTensorRagged})
    for (const Major a : {Major::kK, Major::kMn})
      for (const Major b : {Major::kK, Major::kMn}) {
        if (is_k_major(format) && (a == Major::kMn || b == Major::kMn)) continue;
        Case c;
        c.problem = problem_of(format, m, n);
        c.problem.input_order = order;
        c.problem.a_major = a;
        c.problem.b_major = b;
        c.counts = fit_counts(c.problem, counts);
        cases.push_back(c);
      }
  return cases;
}

std::vector<std::int64_t> fit_counts(const Problem& p, std::vector<std::int64_t> counts) {
  if (p.a_dtype != DType::kE2m1) return counts;
  const bool ragged = p.input_order == InputOrder::kTensorRagged;
  std::size_t last = counts.size();
  while (last > 0 && counts[last - 1] == 0) --last;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (ragged || e + 1 < last) counts[e] += counts[e] % 2;
  }
  return counts;
}

std::string describe(const Case& c) {
  const Problem p = problem(c);
  const auto major = [](Major m) { return m == Major::kK ? "K" : "MN"; };
  std::string counts =
      c.counts.size() <= 16
          ? fmt::format("{}", fmt::join(c.counts, ","))
          : fmt::format("{},...", fmt::join(c.counts.begin(), c.counts.begin() + 16, ","));
  return fmt::format(
      "E{} M{} N{} T{} ks=[{}] {}x{} majors {}/{} {} {} {}{} pitch {} expert stride {} pads a{} "
      "b{} scales {}{} data {} seed {}",
      p.experts, p.m, p.n, p.tokens, counts, name(p.a_dtype), name(p.b_dtype), major(p.a_major),
      major(p.b_major), p.input_order == InputOrder::kTensor2d ? "2d" : "ragged",
      p.output_mode == OutputMode::kDense ? "dense" : "discrete", name(p.wgrad_dtype),
      p.accumulate ? " accumulate" : "", row_pitch(p), expert_stride(p), c.a_pad, c.b_pad,
      !p.scales                                    ? "none"
      : p.scales->layout == ScaleLayout::kSwizzled ? "swizzled"
                                                   : "compact",
      p.scales && p.scales->global_scale ? " global" : "", static_cast<int>(c.data), c.seed);
}

}  // namespace wgrad::harness
