// Tests speak of cases, data and devices without a prefix.
#pragma once

namespace wgrad::harness {}

namespace wgrad::test {
using namespace wgrad::harness;  // NOLINT(google-build-using-namespace)
}  // namespace wgrad::test
