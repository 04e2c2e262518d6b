#include "validate/output_rules.hpp"

#include <fmt/format.h>

#include "core/counted.hpp"
#include "validate/problem_rules.hpp"

namespace wgrad::validate {
namespace {

using Reasons = std::vector<Reason>;

/// Whether `count` rows or experts `stride` elements apart stay within kMaxSpan.
bool spans_too_far(std::int64_t count, std::int64_t stride) {
  return stride > kMaxSpan / count;
}

std::string bytes_text(std::int64_t elements, std::int64_t size) {
  return fmt::format("{} ({} bytes)", core::counted(elements, "element"), elements * size);
}

/// Rows that nobody laid out are as long as N, which is then what to change.
bool check_packed_rows(Reasons& out, const Problem& p, std::int64_t size) {
  const std::size_t before = out.size();
  if (spans_too_far(p.m, p.n)) {
    out.push_back({"output-span", "n", fmt::format("{}", p.n),
                   fmt::format("at most {} for M = {}", kMaxSpan / p.m, p.m)});
  } else if (p.n * size % kAlignment != 0) {
    out.push_back(
        {"row-alignment", "n", fmt::format("{} ({} bytes a row of the output)", p.n, p.n * size),
         fmt::format(
             "a multiple of {}{}", kAlignment / size,
             p.output_mode == OutputMode::kDense ? ", unless the output's rows are padded" : "")});
  }
  return out.size() == before;
}

/// Whether rows so far apart hold N elements, start aligned and can be addressed.
bool check_row_pitch(Reasons& out, const Problem& p, std::int64_t size) {
  const std::int64_t pitch = row_pitch(p);
  if (pitch < 0 || spans_too_far(p.m, pitch)) {
    out.push_back({"output-span", "wgrad row pitch", core::counted(pitch, "element"),
                   fmt::format("from N to {} elements for M = {}", kMaxSpan / p.m, p.m)});
  } else if (pitch < p.n || pitch * size % kAlignment != 0) {
    out.push_back({"row-alignment", "wgrad row pitch",
                   fmt::format("{} for N = {}", bytes_text(pitch, size), p.n),
                   fmt::format("at least N and a multiple of {} bytes", kAlignment)});
  } else {
    return true;
  }
  return false;
}

/// `rows_fit`: the pitch is one; otherwise only what does not follow from it is judged.
void check_expert_stride(Reasons& out, const Problem& p, std::int64_t size, bool rows_fit) {
  if (!rows_fit && p.wgrad_expert_stride == 0) return;
  const std::int64_t stride = expert_stride(p);
  if (stride < 0 || spans_too_far(p.experts, stride)) {
    out.push_back(
        {"output-span", "wgrad expert stride", core::counted(stride, "element"),
         fmt::format("from 0 to {} elements for E = {}", kMaxSpan / p.experts, p.experts)});
    return;
  }
  if (p.experts == 1) return;
  const std::int64_t least = rows_fit ? (p.m - 1) * row_pitch(p) + p.n : 0;
  if (stride < least || stride * size % kAlignment != 0) {
    const std::string apart =
        rows_fit ? fmt::format("at least {} elements, so that experts do not overlap, and ", least)
                 : "";
    out.push_back({"expert-stride", "wgrad expert stride", bytes_text(stride, size),
                   fmt::format("{}a multiple of {} bytes", apart, kAlignment)});
  }
}

}  // namespace

bool is_output(DType dtype) {
  return dtype == DType::kBf16 || dtype == DType::kF16 || dtype == DType::kF32;
}

void check_output_dtypes(std::vector<Reason>& out, const Problem& p) {
  if (p.acc_dtype != DType::kF32) {
    out.push_back({"acc-dtype", "acc_dtype", std::string(name(p.acc_dtype)), "float32"});
  }
  if (!is_output(p.wgrad_dtype)) {
    out.push_back({"wgrad-dtype", "wgrad_dtype", std::string(name(p.wgrad_dtype)),
                   "bfloat16, float16 or float32"});
  }
}

void check_output_strides(Reasons& out, const Problem& p) {
  const std::int64_t size = bits(p.wgrad_dtype) / 8;
  const bool rows_fit =
      p.wgrad_row_pitch == 0 ? check_packed_rows(out, p, size) : check_row_pitch(out, p, size);
  if (p.output_mode == OutputMode::kDense) {
    check_expert_stride(out, p, size, rows_fit);
  } else if (row_pitch(p) != p.n || p.wgrad_expert_stride != 0) {
    out.push_back({"discrete-strides", "wgrad strides", "padded",
                   "(N, 1) for each expert of a discrete output"});
  }
}

}  // namespace wgrad::validate
