// All else that can be judged of a call that is refused.
#include <algorithm>
#include <span>
#include <utility>

#include "call/contract.hpp"
#include "call/reading/builder.hpp"

namespace wgrad::call {
namespace {

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

}  // namespace wgrad::call
