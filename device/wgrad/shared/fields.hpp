// The fields of a config, once. A config has `visit_fields(visit)`, which calls visit(Field) for
// each of its members in the order of their declaration: text, comparison, and the values that
// tests cross come from there.
#pragma once

#include "wgrad/shared/types.hpp"

namespace wgrad::shared {

enum class FieldOrigin : u8 {
  kProblem,  // what is computed: follows from the problem
  kChoice,   // how: chosen by a planner or a caller, and freely combined
  kDepth,    // how deep: follows from the other fields
};

template <typename Struct, typename Value>
struct Field {
  const char* name;
  Value Struct::*member;
  FieldOrigin origin;
};
template <typename Struct, typename Value>
constexpr Field<Struct, Value> field(const char* name, Value Struct::*member, FieldOrigin origin) {
  return {name, member, origin};
}

constexpr bool same_text(const char* x, const char* y) {
  for (; *x != 0 && *x == *y; ++x, ++y) {
  }
  return *x == *y;
}

struct AnyValue {
  template <typename Value>
  operator Value() const;  // NOLINT(google-explicit-constructor): never called
};

// Members of an aggregate.
template <typename Struct, typename... Values>
constexpr u32 member_count() {
  if constexpr (requires { Struct{Values{}..., AnyValue{}}; }) {
    return member_count<Struct, Values..., AnyValue>();
  } else {
    return sizeof...(Values);
  }
}

// The visitor names every member, and each of them once.
template <typename Config>
constexpr bool visits_every_field() {
  const char* names[member_count<Config>() + 1] = {};
  u32 count = 0;
  bool right = true;
  Config::visit_fields([&](auto f) {
    for (u32 i = 0; i < count; ++i) right = right && !same_text(names[i], f.name);
    if (count < member_count<Config>()) names[count] = f.name;
    ++count;
  });
  return right && count == member_count<Config>();
}

// Alike in every field of these origins.
template <typename Config, typename... Origins>
constexpr bool same_fields(const Config& x, const Config& y, Origins... origins) {
  bool same = true;
  Config::visit_fields([&](auto f) {
    if ((... || (f.origin == origins))) same = same && x.*f.member == y.*f.member;
  });
  return same;
}

}  // namespace wgrad::shared
