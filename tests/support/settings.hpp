// What the environment may ask of the test programs (the library itself reads none of these).
#pragma once

#include <cstdint>

namespace wgrad::test {

struct Settings {
  std::uint64_t seed = 1;    ///< WGRAD_TEST_SEED: first seed of the property tests
  std::int64_t cases = 300;  ///< WGRAD_TEST_CASES: how many seeds follow each other
  /// WGRAD_TEST_DIVISOR: how far the shapes file is scaled down; 1 is the whole size.
  std::int64_t divisor = 64;
  /// WGRAD_TEST_EMU: conformance runs on the emulated GPU instead: of SM 10.0 where it is 100, of
  /// SM 9.0 where it is another number; 0: it does not.
  std::int64_t emulate = 0;
  /// WGRAD_TEST_DRIVER=1: on that of SM 9.0, through the launcher of real GPUs and a fake driver.
  bool by_driver = false;
};

Settings settings();

}  // namespace wgrad::test
