#include "call.hpp"

#include <fmt/format.h>

#include <utility>

#include "call_builder.hpp"
#include "operand_layout.hpp"

namespace wgrad::python {

void CallBuilder::check_rank(const TensorView& view, const char* field, int rank,
                             const char* need) {
  if (view.rank != rank) refuse("rank", field, "of shape " + shape_text(view), need);
}

void CallBuilder::check_per_expert(const TensorView& view, const char* field) {
  const std::int64_t experts = call.problem.experts;
  if (view.rank != 1 || view.shape[0] != experts) {
    refuse("shape", field, "of shape " + shape_text(view),
           fmt::format("({},), one entry per expert", experts));
  } else if (!view.contiguous()) {
    refuse("layout", field, "strided", "contiguous");
  }
}

void CallBuilder::check_place(const TensorView& view, const std::string& field) {
  if (view.place == call.place) return;
  refuse("device", field, "on " + to_string(view.place),
         fmt::format("on the same device as {}, which is {}", named("a"), to_string(call.place)));
}

namespace {

/// "1 token", "2 tokens".
std::string counted(std::int64_t number, const char* unit) {
  return fmt::format("{} {}{}", number, unit, number == 1 ? "" : "s");
}

void check_output_rank(CallBuilder& b) {
  if (b.in.wgrad) b.check_rank(*b.in.wgrad, "wgrad", 3, "3-D, (E, M, N)");
}

void check_ranks(CallBuilder& b) {
  b.check_rank(b.in.a, "a", 2, b.api == Api::kNatural ? "2-D, (T, M)" : "2-D, (M, T)");
  b.check_rank(b.in.b, "b", 2, "2-D, (T, N)");
  b.check_rank(b.in.offsets, "offsets", 1, "1-D, (E,)");
  check_output_rank(b);
}

/// Token-major x and dy are MN-major; the drop-in functions expect K-major, as the reference does.
Problem usual_majors(Api api) {
  Problem p;
  p.a_major = p.b_major = api == Api::kNatural ? Major::kMn : Major::kK;
  return p;
}

void read_inputs(CallBuilder& builder) {
  const InputOrder order = builder.options.input_order;
  const Problem usual = usual_majors(builder.api);
  const Problem& preferred = builder.compiled != nullptr ? *builder.compiled : usual;
  const bool settled = builder.compiled != nullptr;
  const OperandLayout a =
      read_operand(builder.in.a, "a", 1, {preferred.a_major, settled}, order, builder.reasons);
  const OperandLayout b =
      read_operand(builder.in.b, "b", 0, {preferred.b_major, settled}, order, builder.reasons);
  if (builder.reasons.empty() && a.tokens != b.tokens) {
    builder.refuse(
        "tokens", "b", counted(b.tokens, "token") + " long",
        fmt::format("as long as {}: {}", builder.named("a"), counted(a.tokens, "token")));
  }
  Problem& p = builder.call.problem;
  p.m = a.extent;
  p.n = b.extent;
  p.tokens = a.tokens;
  p.a_dtype = a.dtype;
  p.b_dtype = b.dtype;
  p.a_major = a.major;
  p.b_major = b.major;
  p.input_order = order;
  builder.call.a_open = a.open;
  builder.call.b_open = b.open;
  Operands& o = builder.call.operands;
  o.tokens = a.tokens;
  o.a = builder.in.a.data;
  o.b = builder.in.b.data;
  o.a_ld = a.ld;
  o.b_ld = b.ld;
}

void read_offsets(CallBuilder& b) {
  const TensorView& offsets = b.in.offsets;
  if (offsets.element != Element::kI32) {
    b.refuse("dtype", "offsets", dtype_text(offsets), "int32, the cumulative ends of the experts");
  }
  if (!offsets.contiguous()) b.refuse("layout", "offsets", "strided", "contiguous");
  b.call.problem.experts = offsets.shape[0];
  b.call.operands.offsets = static_cast<const std::int32_t*>(offsets.data);
}

void check_workspace_size(CallBuilder& b, std::int64_t given) {
  const std::int64_t need =
      workspace_bytes(b.call.problem.experts, b.form == OutputForm::kPointers);
  if (given >= need) return;
  b.refuse("workspace", "workspace", counted(given, "byte"),
           fmt::format("at least {} bytes, as get_grouped_gemm_wgrad_workspace_size_sm100 says{}",
                       need, b.form == OutputForm::kPointers ? " of output_mode='discrete'" : ""));
}

void read_workspace(CallBuilder& b) {
  if (!b.in.workspace) return;
  const TensorView& w = *b.in.workspace;
  const std::string named = b.named("workspace");
  if (w.element != Element::kU8) {
    b.refuse("dtype", "workspace", dtype_text(w), "uint8: " + named + " must have dtype uint8");
  }
  if (!w.contiguous()) {
    b.refuse("layout", "workspace", "strided", "contiguous: " + named + " must be contiguous");
  }
  if (w.rank > kMaxRank) {
    b.refuse("rank", "workspace", fmt::format("{}-D", w.rank), "1-D");
    return;
  }
  check_workspace_size(b, w.size());
  if (!w.writable) b.refuse("read-only", "workspace", "read-only", "writable");
  if (w.data == nullptr && w.size() > 0) {
    b.refuse("null-pointer", "workspace", "null", "an address");
  }
  b.call.operands.workspace = w.data;
  b.call.operands.workspace_bytes = w.size();
}

void check_places(CallBuilder& b) {
  b.check_place(b.in.b, "b");
  b.check_place(b.in.offsets, "offsets");
  const std::pair<const std::optional<TensorView>&, const char*> others[] = {
      {b.in.sfa, "sfa"},
      {b.in.sfb, "sfb"},
      {b.in.global_scale_a, "global_scale_a"},
      {b.in.global_scale_b, "global_scale_b"},
      {b.in.wgrad, "wgrad"},
      {b.in.wgrad_ptrs, "wgrad_ptrs"},
      {b.in.workspace, "workspace"}};
  for (const auto& [view, field] : others) {
    if (view) b.check_place(*view, field);
  }
}

void read_options(CallBuilder& b) {
  Problem& p = b.call.problem;
  p.tiling = b.options.tiling;
  p.accumulate = b.options.accumulate;
  p.acc_dtype = b.options.acc_dtype;
}

}  // namespace

std::int64_t workspace_bytes(std::int64_t experts, bool pointers) {
  constexpr std::int64_t kDescriptorBytes = 128;
  return kDescriptorBytes * (pointers ? 5 : 4) * experts;
}

Call read_call(const Arguments& arguments, const Options& options, OutputForm form, Api api,
               const Problem* compiled) {
  CallBuilder builder{arguments, options, form, api, compiled};
  builder.call.place = arguments.a.place;
  builder.call.operands.device = arguments.a.place.ordinal;
  check_ranks(builder);
  builder.throw_refusals();  // the readers below index axes
  read_inputs(builder);
  read_offsets(builder);
  builder.throw_refusals();  // the readers below compare with M, N, E and the dtypes
  read_options(builder);
  read_scales(builder);
  read_output(builder);
  read_workspace(builder);
  check_places(builder);
  builder.throw_refusals();
  return std::move(builder.call);
}

void read_given_output(Call& call, const Arguments& arguments, const Options& options,
                       OutputForm form, Api api) {
  CallBuilder builder{arguments, options, form, api, nullptr, std::move(call)};
  check_output_rank(builder);
  builder.throw_refusals();
  read_output(builder);
  builder.check_place(*arguments.wgrad, "wgrad");
  builder.throw_refusals();
  call = std::move(builder.call);
}

}  // namespace wgrad::python
