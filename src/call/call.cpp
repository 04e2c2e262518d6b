#include "call/call.hpp"

#include <fmt/format.h>

#include <utility>

#include "call/reading/builder.hpp"

namespace wgrad::call {

bool CallBuilder::check_rank(const TensorView& view, const char* field, int rank,
                             const char* need) {
  if (view.rank != rank) refuse("rank", field, "of shape " + shape_text(view), need);
  return view.rank == rank;
}

void CallBuilder::check_per_expert(const TensorView& view, const char* field) {
  const std::int64_t experts = call.problem.experts;
  if (view.rank != 1 || (known.experts && view.shape[0] != experts)) {
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

void read_offsets(CallBuilder& b) {
  const TensorView& offsets = b.in.offsets;
  if (!b.check_rank(offsets, "offsets", 1, "1-D, (E,)")) return;
  if (offsets.element != Element::kI32) {
    b.refuse("dtype", "offsets", dtype_text(offsets), "int32, the cumulative ends of the experts");
  }
  if (!offsets.contiguous()) b.refuse("layout", "offsets", "strided", "contiguous");
  b.known.experts = true;
  b.call.problem.experts = offsets.shape[0];
  b.call.operands.offsets = static_cast<const std::int32_t*>(offsets.data);
}

void check_workspace_size(CallBuilder& b, std::int64_t given) {
  const std::int64_t experts = b.known.experts ? b.call.problem.experts : 1;  // or more
  const std::int64_t need = workspace_bytes(experts, b.reading.form == OutputForm::kPointers);
  if (given >= need) return;
  b.refuse(
      "workspace", "workspace", counted(given, "byte"),
      fmt::format("at least {0} bytes, as get_grouped_gemm_wgrad_workspace_size_sm100 says{1}: {2} "
                  "requires at least {0} bytes, got {3}",
                  need, b.reading.form == OutputForm::kPointers ? " of output_mode='discrete'" : "",
                  b.named("workspace"), given));
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
  p.fast_accumulation = b.options.fast_accumulation;
  p.acc_dtype = b.options.acc_dtype;
  b.call.preparation = b.options.preparation;
}

}  // namespace

std::int64_t workspace_bytes(std::int64_t experts, bool pointers) {
  constexpr std::int64_t kDescriptorBytes = 128;
  return kDescriptorBytes * (pointers ? 5 : 4) * experts;
}

std::string counted(std::int64_t number, const char* unit) {
  return fmt::format("{} {}{}", number, unit, number == 1 ? "" : "s");
}

Call read_call(const Tensors& tensors, const Options& options, const Reading& reading) {
  CallBuilder builder{tensors, options, reading};
  builder.call.place = tensors.a.place;
  builder.call.operands.device = tensors.a.place.ordinal;
  builder.call.holds_data = reading.holds_data;
  read_operands(builder);
  read_offsets(builder);
  read_options(builder);
  read_scales(builder);
  read_output(builder);
  read_workspace(builder);
  check_places(builder);
  builder.throw_refusals();
  return std::move(builder.call);
}

void read_given_output(Call& call, const Tensors& tensors, const Options& options,
                       const Reading& reading) {
  CallBuilder builder{tensors, options, reading, std::move(call)};
  builder.known = {true, true, true, true};
  read_output(builder);
  builder.check_place(*tensors.wgrad, "wgrad");
  builder.throw_refusals();
  call = std::move(builder.call);
}

}  // namespace wgrad::call
