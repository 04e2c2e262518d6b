// A contract compiled, and the operators that are kept for later calls.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "call/contract.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::call {

/// Computes calls of one contract, from any thread.
class Operator {
 public:
  /// Plans and builds; `candidate`: which of the planner's, best first. Throws what prepare() does.
  explicit Operator(Contract contract, int candidate = 0);

  /// Refuses a call that breaks the contract; settles the majors that `call` leaves open.
  void check(Call& call) const;
  /// Computes a call that keeps the contract, on the stream of its operands. Throws what
  /// Executable::run() does. Where the contract leaves the output's strides open, the first call
  /// with other strides prepares an executable for them.
  void run(const Call& call) const { executable_for(call.problem).run(call.operands); }

  const Contract& contract() const noexcept { return contract_; }
  std::string_view backend() const noexcept { return executable_.backend(); }
  const std::string& plan() const noexcept { return executable_.plan(); }
  /// What a call has to bring whose contract has a workspace; 0: the plan has no use for one.
  std::int64_t needed_workspace_bytes() const noexcept;

  /// The first fault in device data that a call met since the last clear_fault().
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  using Strides = std::pair<std::int64_t, std::int64_t>;  // row pitch, expert stride

  const Executable& executable_for(const Problem& call) const;

  Contract contract_;
  Executable executable_;  // of the contract's own output strides
  mutable std::mutex mutex_;
  mutable std::map<Strides, Executable> others_;  // guarded by mutex_; none is ever taken out
};

/// What a key must promise: throws RuntimeError where `kept` does not serve `call`, naming what the
/// key forgot.
void check_hit(const Operator& kept, const Call& call);

/// Operators by contract, each made at its first use. Safe from several threads: two that miss at
/// once both compile, and the first to end stays.
class OperatorCache {
 public:
  using Kept = std::shared_ptr<const Operator>;

  /// The operator of `call`, made where there is none. Throws what Operator's constructor does.
  /// In builds for tests and for debugging check_hit() judges a kept one.
  Kept get(const Call& call);

  /// A fault in device data that one of them saw.
  std::optional<DeviceFault> fault() const;
  void clear_fault() const;

 private:
  Kept find(const Call& call, const std::string& key) const;

  mutable std::mutex mutex_;  // of operators_; nothing is compiled under it
  std::unordered_map<std::string, Kept> operators_;
};

}  // namespace wgrad::call
