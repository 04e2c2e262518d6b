#include "call/operator.hpp"

#include <utility>

#include "wgrad/errors.hpp"

namespace wgrad::call {
namespace {

#if defined(WGRAD_CHECK_HITS) || !defined(NDEBUG)
constexpr bool kCheckHits = true;
#else
constexpr bool kCheckHits = false;
#endif

/// With the majors that a call of so few tokens leaves open.
void settle(Call& call, const Problem& problem) {
  if (call.a_open) call.problem.a_major = problem.a_major;
  if (call.b_open) call.problem.b_major = problem.b_major;
}

Executable prepared(const Contract& contract, const Problem& problem, int candidate = 0) {
  return prepare(problem, device_of(contract),
                 {.backend = contract.preparation.backend,
                  .validate_device_data = contract.preparation.validate_device_data,
                  .device = contract.place.ordinal,
                  .candidate = candidate});
}

}  // namespace

Operator::Operator(Contract contract, int candidate)
    : contract_(std::move(contract)),
      executable_(prepared(contract_, contract_.problem, candidate)) {}

const Executable& Operator::executable_for(const Problem& call) const {
  const Strides strides{call.wgrad_row_pitch, call.wgrad_expert_stride};
  const Problem& own = contract_.problem;
  if (strides == Strides{own.wgrad_row_pitch, own.wgrad_expert_stride}) return executable_;
  const std::lock_guard lock(mutex_);
  if (const auto found = others_.find(strides); found != others_.end()) return found->second;
  return others_.emplace(strides, prepared(contract_, strided_as(own, call))).first->second;
}

std::int64_t Operator::needed_workspace_bytes() const noexcept {
  const std::int64_t bytes = executable_.workspace_bytes();  // at least 1
  return bytes > 1 ? bytes : 0;
}

std::optional<DeviceFault> Operator::fault() const {
  if (auto seen = executable_.fault()) return seen;
  const std::lock_guard lock(mutex_);
  for (const auto& [strides, executable] : others_) {
    if (auto seen = executable.fault()) return seen;
  }
  return std::nullopt;
}

void Operator::clear_fault() const {
  executable_.clear_fault();
  const std::lock_guard lock(mutex_);
  for (const auto& [strides, executable] : others_) executable.clear_fault();
}

void Operator::check(Call& call) const {
  settle(call, contract_.problem);
  if (!serves(contract_, call)) refuse_if_any(differences(call, contract_));
}

void check_hit(const Operator& kept, const Call& given) {
  if (serves(kept.contract(), given)) return;
  Call call = given;
  settle(call, kept.contract().problem);
  if (serves(kept.contract(), call)) return;
  std::string text = "wgrad: the key of an operator forgot a field";
  for (const Reason& reason : differences(call, kept.contract())) text += ": " + to_string(reason);
  throw RuntimeError(text);
}

OperatorCache::Kept OperatorCache::find(const Call& call, const std::string& key) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = operators_.find(key); found != operators_.end()) return found->second;
  for (const std::string& other : other_keys(call)) {
    if (const auto found = operators_.find(other); found != operators_.end()) return found->second;
  }
  return nullptr;
}

OperatorCache::Kept OperatorCache::get(const Call& call) {
  std::string key = key_of(call);
  if (Kept kept = find(call, key)) {
    if (kCheckHits) check_hit(*kept, call);
    return kept;
  }
  auto made =
      with_all_reasons(call, [&] { return std::make_shared<const Operator>(contract_of(call)); });
  const std::lock_guard lock(mutex_);
  return operators_.try_emplace(std::move(key), std::move(made)).first->second;
}

std::optional<DeviceFault> OperatorCache::fault() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, kept] : operators_) {
    if (auto seen = kept->fault()) return seen;
  }
  return std::nullopt;
}

void OperatorCache::clear_fault() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, kept] : operators_) kept->clear_fault();
}

}  // namespace wgrad::call
