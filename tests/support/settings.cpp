#include "support/settings.hpp"

#include <cstdlib>

namespace wgrad::test {
namespace {

std::int64_t positive(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::int64_t value = text != nullptr ? std::strtoll(text, nullptr, 10) : 0;
  return value > 0 ? value : otherwise;
}

}  // namespace

Settings settings() {
  Settings s;
  s.seed = static_cast<std::uint64_t>(positive("WGRAD_TEST_SEED", 1));
  s.cases = positive("WGRAD_TEST_CASES", s.cases);
  s.divisor = positive("WGRAD_TEST_DIVISOR", s.divisor);
  s.emulate = positive("WGRAD_TEST_EMU", 0);
  s.by_driver = positive("WGRAD_TEST_DRIVER", 0) != 0;
  return s;
}

}  // namespace wgrad::test
