// The floating-point mode a computation relies on.
#pragma once

#include <cfenv>

namespace wgrad::core {

/// Round to nearest, subnormals kept (callers may have switched flushing on), exceptions masked;
/// restored when it goes. Results must not depend on which thread computes them.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept {
    std::fegetenv(&previous_);
    std::fesetenv(FE_DFL_ENV);
  }
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
  ~DefaultFloatEnvironment() { std::fesetenv(&previous_); }

 private:
  std::fenv_t previous_{};
};

}  // namespace wgrad::core
