#include "attributes.hpp"

#include <cstdint>
#include <string>

#include "call/statement.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::jax {
namespace {

using Dictionary = xla::ffi::Dictionary;

template <class T>
T get(const Dictionary& attributes, std::string_view name) {
  const auto value = attributes.get<T>(name);
  if (value.has_value()) return *value;
  throw ValueError("wgrad: the custom call's attribute " + std::string(name) +
                   " is missing or of another type: " + value.error().message());
}

struct Fill {
  const Dictionary& attributes;
  std::string_view name;

  void operator()(bool& flag) const { flag = get<bool>(attributes, name); }
  void operator()(std::int64_t& number) const { number = get<std::int64_t>(attributes, name); }
  void operator()(std::string& text) const { text = get<std::string_view>(attributes, name); }
};

}  // namespace

call::Contract read_contract(const Dictionary& attributes, const call::Place& place) {
  call::Contract contract =
      call::contract_of_values([&](std::string_view name, call::Value& value) {
        std::visit(Fill{attributes, name}, value);
      });
  contract.place = place;
  return contract;
}

std::string_view key_of(const Dictionary& attributes) {
  return get<std::string_view>(attributes, "key");
}

}  // namespace wgrad::jax
