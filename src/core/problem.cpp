#include "wgrad/problem.hpp"

namespace wgrad {
namespace {

bool is_fp8(DType d) {
  return d == DType::kE4m3 || d == DType::kE5m2;
}

}  // namespace

std::optional<Format> format_of(const Problem& p) noexcept {
  if (!p.scales) {
    const bool sixteen_bit = p.a_dtype == DType::kBf16 || p.a_dtype == DType::kF16;
    return sixteen_bit && p.a_dtype == p.b_dtype ? std::optional(Format::kSixteenBit)
                                                 : std::nullopt;
  }
  const bool e8m0 = p.scales->dtype == DType::kE8m0;
  const bool f32 = p.scales->dtype == DType::kF32;
  if (is_fp8(p.a_dtype) && is_fp8(p.b_dtype)) {
    if (f32) return scales_whole_rows(p) ? Format::kFp8Rowwise : Format::kFp8Blocks;
    if (e8m0) return p.scales->vec_size == 128 ? Format::kFp8Blocks : Format::kMxfp8;
    return std::nullopt;
  }
  if (p.a_dtype != DType::kE2m1 || p.b_dtype != DType::kE2m1) return std::nullopt;
  if (e8m0) return Format::kMxfp4;
  if (p.scales->dtype == DType::kE4m3) return Format::kNvfp4;
  return std::nullopt;
}

}  // namespace wgrad
