// A config's fields as text (device/wgrad/shared/fields.hpp).
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

namespace wgrad::core {

/// As C++ spells it.
template <typename Value>
std::string value_text(const Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    return name_of(value);
  } else {
    return fmt::format("{}", value);
  }
}

/// ".tile_m = 128, .tile_n = 256, ...": every field in order, as an initialiser names it, in lines
/// of at most `width` characters that begin with `indent`.
template <typename Config>
std::string field_text(const Config& config, const std::string& indent, std::size_t width) {
  std::string out, line = indent;
  Config::visit_fields([&](auto field) {
    const std::string part =
        fmt::format(".{} = {}, ", field.name, value_text(config.*field.member));
    if (line.size() + part.size() > width + 1) {  // the last space goes
      line.back() = '\n';
      out += line;
      line = indent;
    }
    line += part;
  });
  line.resize(line.size() - 2);
  return out + line;
}

}  // namespace wgrad::core
