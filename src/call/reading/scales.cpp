#include <fmt/format.h>

#include "call/reading/builder.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::call {
namespace {

void forbid(CallBuilder& b, const char* field, bool given, std::string got,
            const char* need = "None") {
  if (!given) return;
  b.refuse("scale-control", field, std::move(got),
           std::string(need) + ": BF16 forbids scale control " + b.named(field));
}

void refuse_scale_controls(CallBuilder& b) {
  forbid(b, "sfa", b.in.sfa.has_value(), "given");
  forbid(b, "sfb", b.in.sfb.has_value(), "given");
  forbid(b, "global_scale_a", b.in.global_scale_a.has_value(), "given");
  forbid(b, "global_scale_b", b.in.global_scale_b.has_value(), "given");
  const std::string& override = b.options.sf_fp8_dtype_override;
  forbid(b, "sf_fp8_dtype_override", !override.empty(), override);
  forbid(b, "compact_scales", b.options.scale_layout == ScaleLayout::kCompact, "True", "False");
  const int vec = b.options.sf_vec_size.value_or(16);
  if (vec != 16) {
    b.refuse("scale-control", "sf_vec_size", std::to_string(vec),
             "16, its default: BF16 forbids scale control sf_vec_size");
  }
}

/// Tokens a scale factor covers, where somebody said so. An operator's own: later calls may leave
/// to the dtype what the first one spelled out, or the reverse.
std::optional<int> given_vec_size(const CallBuilder& b) {
  const Problem* compiled = b.reading.compiled;
  if (compiled != nullptr && compiled->scales) return compiled->scales->vec_size;
  return b.options.sf_vec_size;
}

/// uint8 scale factors are what the vector size says: older torch has no float8_e8m0fnu.
std::optional<DType> scale_dtype(CallBuilder& b, const std::optional<TensorView>& view,
                                 const char* field) {
  if (!view) {
    b.refuse("scales", field, "None", "given: the block-scaled formats need scale factors");
    return std::nullopt;
  }
  if (view->element == Element::kF32 && b.call.problem.a_dtype != DType::kE2m1) return DType::kF32;
  if (view->element == Element::kE8m0) return DType::kE8m0;
  if (view->element == Element::kE4m3) return DType::kE4m3;
  const bool fp8 = b.call.problem.a_dtype != DType::kE2m1;
  const auto given = given_vec_size(b);
  const auto vec = fp8 ? given.value_or(32) : given;
  const bool bytes = view->element == Element::kU8;
  if (bytes && vec) return vec == 16 ? DType::kE4m3 : DType::kE8m0;
  b.refuse("dtype", field, dtype_text(*view),
           bytes ? "float8_e8m0fnu or float8_e4m3fn, or uint8 together with sf_vec_size"
           : fp8 ? "float32, float8_e8m0fnu or float8_e4m3fn, or uint8 bytes of one of the latter"
                 : "float8_e8m0fnu or float8_e4m3fn, or uint8 bytes of one of them");
  return std::nullopt;
}

/// One scale factor a row and expert: (E, rows), or flat as torch._scaled_grouped_mm takes it.
std::int64_t read_whole_rows(CallBuilder& b, const TensorView& view, const char* field,
                             std::int64_t extent) {
  const std::int64_t experts = b.call.problem.experts;
  const bool flat = view.rank == 1 && view.shape[0] == experts * extent;
  const bool shaped = view.rank == 2 && view.shape[0] == experts && view.shape[1] == extent;
  if (b.known.experts && !flat && !shaped) {
    b.refuse("scale-shape", field, "of shape " + shape_text(view),
             fmt::format("({}, {}), or flat with as many elements: one a row and expert{}", experts,
                         extent, "; sf_vec_size 128 where one covers 128 tokens"));
  } else if (!view.contiguous()) {
    b.refuse("layout", field, "strided by " + strides_text(view), "contiguous, row-major");
  }
  return experts;
}

/// Columns of a scale tensor for `extent` rows; adds a refusal for any other shape.
std::int64_t scale_columns(CallBuilder& b, const TensorView& view, const char* field,
                           std::int64_t extent) {
  if (scales_whole_rows(b.call.problem)) return read_whole_rows(b, view, field, extent);
  const bool swizzled = b.call.problem.scales->layout == ScaleLayout::kSwizzled;
  const std::int64_t rows = swizzled ? round_up(extent, kScaleAtomRows) : extent;
  const bool shaped = view.rank == 1 || (view.rank == 2 && view.shape[0] == rows);
  if (!shaped || rows == 0 || view.size() % rows != 0) {
    b.refuse("scale-shape", field, "of shape " + shape_text(view),
             fmt::format("({0}, columns), or flat with a multiple of {0} elements", rows));
    return 0;
  }
  if (!view.contiguous()) {
    b.refuse("layout", field, "strided by " + strides_text(view), "contiguous, row-major");
  }
  return view.size() / rows;
}

const float* global_scale(CallBuilder& b, const std::optional<TensorView>& view, const char* field,
                          const char* partner) {
  if (!view) {
    b.refuse("global-scale", field, "None",
             fmt::format("given too: it and {} must be provided together", b.named(partner)));
    return nullptr;
  }
  if (view->element != Element::kF32) b.refuse("dtype", field, dtype_text(*view), "float32");
  b.check_per_expert(*view, field);
  return static_cast<const float*>(view->data);
}

bool read_global_scales(CallBuilder& b) {
  if (!b.in.global_scale_a && !b.in.global_scale_b) return false;
  Operands& o = b.call.operands;
  o.global_scale_a = global_scale(b, b.in.global_scale_a, "global_scale_a", "global_scale_b");
  o.global_scale_b = global_scale(b, b.in.global_scale_b, "global_scale_b", "global_scale_a");
  return true;
}

/// float32 belongs to the fewest formats, so it is what the sentence is about.
void refuse_other_dtype(CallBuilder& b, DType sfa, DType sfb) {
  const bool a = sfa == DType::kF32;
  b.refuse("dtype", a ? "sfa" : "sfb", std::string(name(a ? sfa : sfb)),
           fmt::format("of the dtype of {}: {}", b.named(a ? "sfb" : "sfa"), name(a ? sfb : sfa)));
}

}  // namespace

void read_scales(CallBuilder& b) {
  if (!b.known.formats) return;
  Problem& p = b.call.problem;
  if (is_sixteen_bit(p.a_dtype) && is_sixteen_bit(p.b_dtype)) return refuse_scale_controls(b);
  if (!b.options.sf_fp8_dtype_override.empty()) {
    b.refuse("scale-control", "sf_fp8_dtype_override", b.options.sf_fp8_dtype_override,
             "None: sf_fp8_dtype_override must be None until E5M3 scale factors exist");
  }
  const auto sfa = scale_dtype(b, b.in.sfa, "sfa");
  const auto sfb = scale_dtype(b, b.in.sfb, "sfb");
  b.known.formats = sfa && sfb;
  if (!b.known.formats) return;
  if (*sfa != *sfb) refuse_other_dtype(b, *sfa, *sfb);
  const int usual_vec = *sfa == DType::kF32 ? kAllTokens : *sfa == DType::kE4m3 ? 16 : 32;
  const int vec = given_vec_size(b).value_or(usual_vec);
  // Theirs is the only layout: nothing is to be said of it.
  const bool by_rows = vec == kAllTokens || vec == 128;
  p.scales = ScaleSpec{*sfa, vec, by_rows ? ScaleLayout::kCompact : b.options.scale_layout,
                       read_global_scales(b)};
  Operands& o = b.call.operands;
  o.sfa = b.in.sfa->data;
  o.sfb = b.in.sfb->data;
  o.sfa_cols = scale_columns(b, *b.in.sfa, "sfa", p.m);
  o.sfb_cols = scale_columns(b, *b.in.sfb, "sfb", p.n);
}

}  // namespace wgrad::call
