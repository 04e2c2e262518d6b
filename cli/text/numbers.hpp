// Whole numbers on the command line, refused in a sentence that names the flag.
#pragma once

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "wgrad/errors.hpp"

namespace wgrad::cli {

/// The whole numbers that `text`, the value of `flag`, has between commas: `count` of them, or any
/// number where it is 0. Throws ValueError, saying that it must be `need`.
template <typename Number>
std::vector<Number> numbers(const char* flag, const std::string& text, const std::string& need,
                            std::size_t count = 0) {
  std::vector<Number> out;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (;; ++at) {
    Number value{};
    const auto [read, error] = std::from_chars(at, end, value);
    const bool good = error == std::errc{} && (read == end || *read == ',');
    if (good) out.push_back(value);
    if (good && read != end) {
      at = read;
    } else if (good && (count == 0 || out.size() == count)) {
      return out;
    } else {
      throw ValueError(fmt::format("wgrad: {} is '{}'; it must be {}", flag, text, need));
    }
  }
}

/// A flag that takes one whole number of `least` or more.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const char* flag, Number& to, Number least,
                        const char* what) {
  const auto read = [flag, &to, least](const std::string& text) {
    const Number most = std::numeric_limits<Number>::max();
    const std::string need = fmt::format("a whole number from {} to {}", least, most);
    const Number value = numbers<Number>(flag, text, need, 1).front();
    if (value < least) {
      throw ValueError(fmt::format("wgrad: {} is '{}'; it must be {}", flag, text, need));
    }
    to = value;
  };
  return app.add_option_function<std::string>(flag, read, what)->type_name("INT");
}

}  // namespace wgrad::cli
