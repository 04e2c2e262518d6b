#include "validate/operand_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "core/counted.hpp"
#include "core/saturating.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::validate {
namespace {

using Reasons = std::vector<Reason>;

OperandView view(const Problem& p, Major major, std::int64_t width_mn, std::int64_t tokens,
                 std::int64_t ld) {
  OperandView v;
  v.rows = major == Major::kK ? width_mn : tokens;
  v.width = major == Major::kK ? tokens : width_mn;
  v.ld = ld != 0 ? ld : v.width;
  const bool ragged = p.input_order == InputOrder::kTensorRagged && major == Major::kK;
  v.ld_matters = !ragged && v.rows > 1 && v.width > 0;
  return v;
}

bool aligned(const void* pointer, std::int64_t to) {
  return reinterpret_cast<std::uintptr_t>(pointer) % static_cast<std::uintptr_t>(to) == 0;
}

void check_pointer(Reasons& out, const char* field, const void* pointer, std::int64_t alignment) {
  if (pointer == nullptr) {
    out.push_back({"null-pointer", field, "null", "an address"});
  } else if (!aligned(pointer, alignment)) {
    out.push_back({"pointer-alignment", field, fmt::format("at address {}", fmt::ptr(pointer)),
                   "aligned to " + core::counted(alignment, "byte")});
  }
}

void check_absent(Reasons& out, const char* field, const void* pointer, const char* need) {
  if (pointer != nullptr) out.push_back({"unused-argument", field, "given", need});
}

/// `whole_units`: rows begin at multiples of kAlignment bytes.
void check_ld(Reasons& out, const char* field, const OperandView& v, DType dtype,
              bool whole_units) {
  if (!v.ld_matters) return;
  if (v.ld < v.width) {
    out.push_back({"leading-dimension", field, fmt::format("{}", v.ld),
                   fmt::format("at least the contiguous extent {}", v.width)});
  } else if (v.ld > kMaxSpan / v.rows) {
    out.push_back({"leading-dimension", field, fmt::format("{}", v.ld),
                   fmt::format("at most {} for {} rows", kMaxSpan / v.rows, v.rows)});
  } else if (dtype == DType::kE2m1 && v.ld != v.width && v.ld % 2 != 0) {
    out.push_back({"fp4-leading-dimension", field, fmt::format("{} elements", v.ld),
                   "even: packed FP4 rows are whole bytes"});
  } else if (const std::int64_t bytes = v.ld * bits(dtype) / 8;
             whole_units && bytes % kAlignment != 0) {
    out.push_back({"row-alignment", field,
                   fmt::format("{} ({} bytes)", core::counted(v.ld, "element"), bytes),
                   fmt::format("a multiple of {} bytes: pad the contiguous axis", kAlignment)});
  }
}

void check_inputs(Reasons& out, const Problem& p, const Operands& o) {
  const bool counted = o.tokens >= 0 && o.tokens <= kMaxExtent;
  if (!counted) {
    out.push_back(
        {"extent", "tokens", fmt::format("{}", o.tokens), fmt::format("from 0 to {}", kMaxExtent)});
  }
  check_pointer(out, "offsets", o.offsets, alignof(std::int32_t));
  if (counted && p.a_dtype == DType::kE2m1 && o.tokens % 2 != 0) {
    out.push_back({"fp4-tokens", "tokens", fmt::format("{}", o.tokens),
                   "even: packed FP4 holds two tokens per byte"});
  }
  if (o.tokens == 0) return;
  check_pointer(out, "a", o.a, kAlignment);
  check_pointer(out, "b", o.b, kAlignment);
  if (counted) check_leading_dimensions(out, p, o);
}

void check_scale_cols(Reasons& out, const char* field, const Problem& p, std::int64_t cols,
                      std::int64_t rows) {
  if (scales_whole_rows(p)) {
    if (cols == p.experts) return;
    out.push_back(
        {"scale-extent", field, "for " + core::counted(cols, "expert"),
         "for " + core::counted(p.experts, "expert") + ": one scale factor a row and expert"});
    return;
  }
  if (cols < 0 || cols > kMaxSpan / rows) {
    out.push_back({"scale-extent", field, core::counted(cols, "column") + " wide",
                   fmt::format("from 0 to {} wide", core::counted(kMaxSpan / rows, "column"))});
  }
}

void check_scales(Reasons& out, const Problem& p, const Operands& o) {
  if (p.scales) {
    check_scale_cols(out, "sfa", p, o.sfa_cols, p.m);
    check_scale_cols(out, "sfb", p, o.sfb_cols, p.n);
  }
  if (!p.scales) {
    check_absent(out, "sfa", o.sfa, "absent: the 16-bit formats take no scale factors");
    check_absent(out, "sfb", o.sfb, "absent: the 16-bit formats take no scale factors");
  } else if (o.tokens > 0) {  // all of them may be slack: then there may be no scale factors
    const std::int64_t alignment = bits(p.scales->dtype) / 8;
    if (o.sfa_cols != 0) check_pointer(out, "sfa", o.sfa, alignment);
    if (o.sfb_cols != 0) check_pointer(out, "sfb", o.sfb, alignment);
  }
  if (p.scales && p.scales->global_scale) {
    check_pointer(out, "global_scale_a", o.global_scale_a, alignof(float));
    check_pointer(out, "global_scale_b", o.global_scale_b, alignof(float));
  } else {
    check_absent(out, "global_scale_a", o.global_scale_a, "absent, as the problem declares none");
    check_absent(out, "global_scale_b", o.global_scale_b, "absent, as the problem declares none");
  }
}

/// A stretch of memory that the kernel reads.
struct Input {
  const char* field;
  const void* data;
  std::int64_t bytes;
};

std::int64_t bytes_of(std::int64_t elements, DType dtype) {
  return dtype == DType::kE2m1 ? (elements + 1) / 2 : elements * (bits(dtype) / 8);
}

Input stretch(const char* field, const void* data, const OperandView& v, DType dtype) {
  const std::int64_t rows = v.width > 0 ? v.rows : 0;
  const std::int64_t elements = v.ld_matters ? (rows - 1) * v.ld + v.width : rows * v.width;
  return {field, data, bytes_of(elements, dtype)};
}

std::array<Input, 7> inputs(const Problem& p, const Operands& o) {
  const auto scales = [&](const char* field, const void* data, std::int64_t rows,
                          std::int64_t cols) {
    if (!p.scales) return Input{field, data, 0};
    return Input{field, data,
                 scale_bytes(rows, cols, p.scales->layout) * (bits(p.scales->dtype) / 8)};
  };
  return {{stretch("a", o.a, view_a(p, o), p.a_dtype),
           stretch("b", o.b, view_b(p, o), p.b_dtype),
           {"offsets", o.offsets, p.experts * 4},
           scales("sfa", o.sfa, p.m, o.sfa_cols),
           scales("sfb", o.sfb, p.n, o.sfb_cols),
           {"global_scale_a", o.global_scale_a, p.experts * 4},
           {"global_scale_b", o.global_scale_b, p.experts * 4}}};
}

void check_outputs(Reasons& out, const Problem& p, const Operands& o) {
  if (p.output_mode == OutputMode::kDense) {
    check_pointer(out, "wgrad", o.wgrad, kAlignment);
    check_absent(out, "wgrad_ptrs", o.wgrad_ptrs, "absent in the dense output mode");
  } else {
    check_pointer(out, "wgrad_ptrs", o.wgrad_ptrs, alignof(std::int64_t));
    check_absent(out, "wgrad", o.wgrad, "absent in the discrete output mode");
  }
}

/// Whether what tensors span is known, though other rules may be broken.
bool spans_are_known(const Reasons& out) {
  return std::none_of(out.begin(), out.end(), [](const Reason& reason) {
    return reason.rule == "extent" || reason.rule == "leading-dimension" ||
           reason.rule == "scale-extent";
  });
}

/// Elements from the first of a dense output to behind its last; INT64_MAX where they are more.
std::int64_t output_span(const Problem& p) {
  const std::int64_t pitch = row_pitch(p);
  const std::int64_t stride =
      p.wgrad_expert_stride != 0 ? p.wgrad_expert_stride : core::saturating_multiply(p.m, pitch);
  const std::int64_t experts = core::saturating_multiply(p.experts - 1, stride);
  const std::int64_t rows = core::saturating_multiply(p.m - 1, pitch);
  return core::saturating_add(core::saturating_add(experts, rows), p.n);
}

void check_output_overlaps(Reasons& out, const Problem& p, const Operands& o) {
  const std::int64_t elements = output_span(p);
  if (o.wgrad == nullptr || elements < 0 || elements > kMaxSpan || !spans_are_known(out)) return;
  const auto address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(o.wgrad));
  check_overlaps(out, p, o, std::span(&address, 1), bytes_of(elements, p.wgrad_dtype));
}

}  // namespace

OperandView view_a(const Problem& p, const Operands& o) {
  return view(p, p.a_major, p.m, o.tokens, o.a_ld);
}

OperandView view_b(const Problem& p, const Operands& o) {
  return view(p, p.b_major, p.n, o.tokens, o.b_ld);
}

void check_leading_dimensions(std::vector<Reason>& out, const Problem& p, const Operands& o) {
  if (o.tokens == 0) return;
  const bool whole_units = bits(p.a_dtype) == 16 || is_fp8_by_rows(p);
  check_ld(out, "a_ld", view_a(p, o), p.a_dtype, whole_units);
  check_ld(out, "b_ld", view_b(p, o), p.b_dtype, whole_units);
}

void check_overlaps(std::vector<Reason>& out, const Problem& p, const Operands& o,
                    std::span<const std::int64_t> outputs, std::int64_t bytes) {
  const auto holds = [](std::uint64_t begin, std::int64_t length, std::uint64_t at) {
    return at - begin < static_cast<std::uint64_t>(length);
  };
  for (const Input& in : inputs(p, o)) {
    if (in.data == nullptr || in.bytes <= 0) continue;
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(in.data);
    for (std::size_t e = 0; e < outputs.size(); ++e) {
      const auto output = static_cast<std::uint64_t>(outputs[e]);
      if (!holds(begin, in.bytes, output) && !holds(output, bytes, begin)) continue;
      const std::string expert =
          p.output_mode == OutputMode::kDiscrete ? fmt::format(" of expert {}", e) : "";
      out.push_back(
          {"input-overlap", in.field,
           fmt::format("at address {}, in the memory of the output{}", fmt::ptr(in.data), expert),
           "apart from what is written while it is read"});
    }
  }
}

std::vector<Reason> broken_rules(const Problem& p, const Operands& o,
                                 std::int64_t workspace_bytes) {
  Reasons out;
  check_inputs(out, p, o);
  check_scales(out, p, o);
  check_outputs(out, p, o);
  check_output_overlaps(out, p, o);
  if (o.workspace != nullptr && o.workspace_bytes < workspace_bytes) {
    out.push_back({"workspace", "workspace", core::counted(o.workspace_bytes, "byte"),
                   "at least " + core::counted(workspace_bytes, "byte")});
  }
  return out;
}

}  // namespace wgrad::validate
