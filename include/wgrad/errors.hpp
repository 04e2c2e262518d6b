// What wgrad throws. Each message names the argument, what was given, what is needed.
#pragma once

#include <stdexcept>

namespace wgrad {

/// A bad argument: shape, dtype, stride, alignment, forbidden control, device data.
class ValueError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A missing capability (device, driver, library) or a wrong order of calls.
class RuntimeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace wgrad
