// The text of an error, of the kind that it must have.
#pragma once

#include <exception>
#include <string>

namespace wgrad::test {

/// What `action` says when it throws an Error; anything else it does is said too.
template <class Error, class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("an error of another kind: ") + error.what();
  }
  return "no error";
}

}  // namespace wgrad::test
