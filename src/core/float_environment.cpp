#include "core/float_environment.hpp"

#ifdef __SSE2__
#include <xmmintrin.h>
#endif

namespace wgrad::core {

#ifdef __SSE2__
// MXCSR alone, and only where it differs: fesetenv also writes the x87 unit, which computes nothing
// here, and takes most of the time of a short call
// (docs/notes/2026-12-01-what-a-float-environment-costs.md).

namespace {

constexpr unsigned kDefault = 0x1F80;     // all masked, to nearest, nothing flushed
constexpr unsigned kExceptions = 0x003F;  // seen so far

}  // namespace

DefaultFloatEnvironment::DefaultFloatEnvironment() noexcept : previous_(_mm_getcsr()) {
  if ((previous_ & ~kExceptions) != kDefault) _mm_setcsr(kDefault);
}

DefaultFloatEnvironment::~DefaultFloatEnvironment() {
  if (_mm_getcsr() != previous_) _mm_setcsr(previous_);
}
#else
DefaultFloatEnvironment::DefaultFloatEnvironment() noexcept {
  std::fegetenv(&previous_);
  std::fesetenv(FE_DFL_ENV);
}

DefaultFloatEnvironment::~DefaultFloatEnvironment() {
  std::fesetenv(&previous_);
}
#endif

}  // namespace wgrad::core
