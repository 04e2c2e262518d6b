// What the fuzzer makes of wrong_kernel.cpp.
#include <gtest/gtest.h>

#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "emu/verdict.hpp"

namespace wgrad::test {
namespace {

constexpr std::int64_t kWrongFrom = 40;

const shared::Config& config() {
  return kernels()[0].config;
}

KernelCase failing() {
  for (std::uint64_t number = 1; number < 100; ++number) {
    KernelCase c = random_kernel_case(config(), 0, number);
    if (c.counts.size() > 1 && !verdict(c).text.empty()) return c;
  }
  throw std::logic_error("the wrong kernel passes");
}

std::int64_t tokens_of(const KernelCase& c) {
  return std::accumulate(c.counts.begin(), c.counts.end(), c.slack);
}

TEST(Fuzz, ShrinksToTheFailuresEdge) {
  const KernelCase large = failing(), small = shrink(large);
  EXPECT_FALSE(verdict(small).text.empty());
  EXPECT_LT(tokens_of(small), 2 * kWrongFrom + 2);  // another half would pass
  EXPECT_GE(tokens_of(small), kWrongFrom);
  EXPECT_EQ(small.counts.size(), 1U);
  EXPECT_EQ(small.m, 64);
  EXPECT_EQ(small.n, 64);
}

TEST(Fuzz, PrintsACommandThatFailsAgain) {
  const std::string text = smallest_failure(failing());
  const std::string command = "replay: emu_fuzz ";
  const std::size_t at = text.find(command);
  ASSERT_NE(at, std::string::npos) << text;
  std::istringstream words(text.substr(at + command.size()));
  std::vector<std::string> arguments;
  for (std::string word; words >> word;) arguments.push_back(word);
  const std::string again = verdict(parse(arguments)).text;
  EXPECT_FALSE(again.empty());
  EXPECT_NE(text.find("smallest: " + again + "\n"), std::string::npos) << text << again;
}

TEST(Fuzz, ArgumentsSayEverything) {
  for (std::uint64_t number = 1; number < 30; ++number) {
    KernelCase c = random_kernel_case(config(), 0, number);
    c.values = Values::kWide;
    std::istringstream words(arguments(c));
    std::vector<std::string> split;
    for (std::string word; words >> word;) split.push_back(word);
    EXPECT_EQ(arguments(parse(split)), arguments(c));
  }
}

}  // namespace
}  // namespace wgrad::test
