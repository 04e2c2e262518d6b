#include "call/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "call/call_builder.hpp"
#include "call/contract.hpp"

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
      fmt::format("at least {} bytes, as get_grouped_gemm_wgrad_workspace_size_sm100 says{}", need,
                  b.reading.form == OutputForm::kPointers ? " of output_mode='discrete'" : ""));
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
  p.acc_dtype = b.options.acc_dtype;
  b.call.preparation = b.options.preparation;
}

/// A call that breaks no rule by what nobody could read.
void fill_in_unknown(Call& call, const Known& known) {
  Problem& p = call.problem;
  constexpr std::int64_t kSound = 128;
  if (!known.m) p.m = kSound;
  if (!known.n) p.n = kSound;
  if (!known.experts) p.experts = 1;
  if (known.formats) return;
  const DType bf16 = DType::kBf16;
  p.a_dtype = p.b_dtype = bf16;
  p.a_major = p.b_major = Major::kMn;
  p.scales.reset();
  call.operands.a_ld = call.operands.b_ld = 0;
  call.operands.sfa = call.operands.sfb = nullptr;
  call.operands.global_scale_a = call.operands.global_scale_b = nullptr;
}

/// Offsets and addresses of a call whose host memory can be read.
Support check_host_data(const Call& call, const Reasons& said) {
  const Operands& o = call.operands;
  const auto readable = [&](const void* data, const char* field) {
    return call.holds_data && call.place.kind == DeviceKind::kCpu && data != nullptr &&
           std::none_of(said.begin(), said.end(),
                        [&](const Reason& r) { return subject(r) == field || r.rule == "extent"; });
  };
  const auto experts = static_cast<std::size_t>(call.problem.experts);
  return check_data(call.problem, o,
                    std::span(o.offsets, readable(o.offsets, "offsets") ? experts : 0),
                    std::span(o.wgrad_ptrs, readable(o.wgrad_ptrs, "wgrad_ptrs") ? experts : 0));
}

/// What the core refuses of a call beside what was `said`, its output aside where none was given.
Reasons judged_by_core(const Call& call, const Reasons& said) {
  Reasons reasons = check_operands(call.problem, call.operands).reasons;
  Reasons known = said;
  add_judged(known, reasons);
  for (Reason& r : check_host_data(call, known).reasons) reasons.push_back(std::move(r));
  if (call.place.kind == DeviceKind::kCpu) {  // which is always there to be asked
    const Preparation& how = call.preparation;
    collect(reasons, [&] { device_of(contract_of(call)); });
    add_judged(reasons, check_support(call.problem, device_at(call.place), how.backend).reasons);
  }
  std::erase_if(reasons, [](const Reason& r) {
    return r.rule == "null-pointer" && (r.field == "wgrad" || r.field == "wgrad_ptrs");
  });
  return reasons;
}

}  // namespace

void CallBuilder::throw_refusals() {
  if (reasons.empty()) return;
  fill_in_unknown(call, known);
  add_judged(reasons, judged_by_core(call, reasons));
  refuse_if_any(std::exchange(reasons, {}));
}

void add_all_reasons(Reasons& reasons, const Call& call) {
  add_judged(reasons, judged_by_core(call, reasons));
}

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
