// Random problems for property tests.
#pragma once

#include <cstdint>

#include "harness/cases/case.hpp"
#include "support/harness.hpp"

namespace wgrad::test {

/// A problem that follows the contract, the same for the same seed everywhere: any format, order,
/// majors, output, up to 300 experts, any counts (many of them 0), poisoned slack and paddings.
/// At most about `max_products` multiplications.
Case random_case(std::uint64_t seed, double max_products = 2e6);

}  // namespace wgrad::test
