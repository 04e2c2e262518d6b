#include "core/environment.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>  // setenv

#include <string>

#include "support/refusal.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::core {
namespace {

/// Sets a variable for as long as it lives. No other thread runs in this program.
class Set {
 public:
  // NOLINTBEGIN(concurrency-mt-unsafe)
  Set(const char* variable, const char* value) : variable_(variable) { setenv(variable, value, 1); }
  Set(const Set&) = delete;
  Set& operator=(const Set&) = delete;
  ~Set() { unsetenv(variable_); }
  // NOLINTEND(concurrency-mt-unsafe)

 private:
  const char* variable_;
};

TEST(Environment, NumbersAreRead) {
  const Set validate("WGRAD_VALIDATE", "1");
  const Set threads("WGRAD_THREADS", "7");
  EXPECT_TRUE(read_environment().validate);
  EXPECT_EQ(read_environment().threads, 7);
  const Set off("WGRAD_VALIDATE", "0");
  const Set empty("WGRAD_THREADS", "");
  EXPECT_FALSE(read_environment().validate);
  EXPECT_EQ(read_environment().threads, 0);
}

TEST(Environment, TheDropInNamesVariableTurnsValidationOn) {
  EXPECT_FALSE(read_environment().validate);
  const Set on("CUDNN_FE_GROUPED_GEMM_VALIDATE_DEVICE_VALUES", "1");
  EXPECT_TRUE(read_environment().validate);
  const Set other("CUDNN_FE_GROUPED_GEMM_VALIDATE_DEVICE_VALUES", "yes");
  EXPECT_FALSE(read_environment().validate);
}

TEST(Environment, CompilerOptionsAreSeparatedBySpaces) {
  EXPECT_TRUE(read_environment().nvrtc_options.empty());
  const Set options("WGRAD_NVRTC_OPTIONS", " -lineinfo  -DNAME=1 ");
  EXPECT_EQ(read_environment().nvrtc_options, (std::vector<std::string>{"-lineinfo", "-DNAME=1"}));
}

TEST(Environment, WordsForNumbersAreRefused) {
  for (const char* variable : {"WGRAD_VALIDATE", "WGRAD_THREADS", "WGRAD_EMU_SEED",
                               "WGRAD_ALLOW_UNVERIFIED", "WGRAD_LOG"}) {
    for (const char* value : {"yes", "-1", "1.5", "2x", " 1", "99999999999"}) {
      const Set set(variable, value);
      EXPECT_EQ(test::refusal<ValueError>([] { read_environment(); }),
                std::string("wgrad: ") + variable + " is '" + value +
                    "'; it must be a whole number of 0 or more");
    }
  }
}

TEST(Environment, ADeviceIsNotDescribedWithAWrongNumberOfThreads) {
  const Set threads("WGRAD_THREADS", "all");
  EXPECT_EQ(test::refusal<ValueError>([] { cpu_device(); }),
            "wgrad: WGRAD_THREADS is 'all'; it must be a whole number of 0 or more");
}

}  // namespace
}  // namespace wgrad::core
