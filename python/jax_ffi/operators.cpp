#include "operators.hpp"

#include <mutex>

#include "attributes.hpp"

namespace wgrad::jax {

Operators::Kept Operators::get(const xla::ffi::Dictionary& attributes, const call::Place& place) {
  const std::string_view key = key_of(attributes);
  {
    const std::shared_lock lock(mutex_);
    if (const auto at = kept_.find(place.ordinal); at != kept_.end()) {
      if (const auto found = at->second.find(key); found != at->second.end()) return found->second;
    }
  }
  // Unlocked: it may compile a kernel.
  auto made = std::make_shared<const call::Operator>(read_contract(attributes, place));
  const std::unique_lock lock(mutex_);
  return kept_[place.ordinal].emplace(std::string(key), std::move(made)).first->second;
}

std::optional<DeviceFault> Operators::fault() const {
  const std::shared_lock lock(mutex_);
  for (const auto& [ordinal, by_key] : kept_) {
    for (const auto& [key, kept] : by_key) {
      if (auto seen = kept->fault()) return seen;
    }
  }
  return std::nullopt;
}

void Operators::clear_fault() const {
  const std::shared_lock lock(mutex_);
  for (const auto& [ordinal, by_key] : kept_) {
    for (const auto& [key, kept] : by_key) kept->clear_fault();
  }
}

void Operators::clear() {
  const std::unique_lock lock(mutex_);
  kept_.clear();
}

Operators& operators() {
  // Never destroyed: XLA's threads may still execute while the process ends.
  static auto* const kOperators = new Operators;
  return *kOperators;
}

}  // namespace wgrad::jax
