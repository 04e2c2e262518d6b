// The floating-point mode a computation relies on.
#pragma once

#ifndef __SSE2__
#include <cfenv>
#endif

namespace wgrad::core {

/// Round to nearest, subnormals kept (callers may have switched flushing on), exceptions masked;
/// restored when it goes. Results must not depend on which thread computes them. Both functions are
/// calls that no compiler sees through: nothing is computed before the one or after the other.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() noexcept;
  DefaultFloatEnvironment(const DefaultFloatEnvironment&) = delete;
  DefaultFloatEnvironment& operator=(const DefaultFloatEnvironment&) = delete;
  ~DefaultFloatEnvironment();

 private:
#ifdef __SSE2__
  unsigned previous_ = 0;
#else
  std::fenv_t previous_{};
#endif
};

}  // namespace wgrad::core
