// What the fuzzer makes of wrong_kernel.cpp.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "emu/fuzz/verdict.hpp"
#include "emu/kernels/kernel_configs.hpp"
#include "wgrad/shared/schedule.hpp"

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
    c.raster_m = static_cast<int>(number % 3);
    std::istringstream words(arguments(c));
    std::vector<std::string> split;
    for (std::string word; words >> word;) split.push_back(word);
    EXPECT_EQ(arguments(parse(split)), arguments(c));
  }
}

// Rows of tiles that raster groups do not divide: in the default run and in the mutants'.
TEST(Fuzz, MeetsALowerLastRasterGroup) {
  std::size_t single = 0, pairs = 0;
  for (std::uint64_t number = 1; number <= 300; ++number) {
    const std::size_t kernel = number % std::size(kKernelConfigs);
    const shared::Config& c = kKernelConfigs[kernel];
    const KernelCase k = fuzz_case(c, kernel, number);
    if (k.raster_m == 0) continue;
    const shared::TileGrid g = shared::tile_grid(
        c, static_cast<std::int32_t>(k.m), static_cast<std::int32_t>(k.n),
        static_cast<std::int32_t>(k.counts.size()), static_cast<std::int32_t>(k.raster_m));
    EXPECT_GT(g.rows, g.raster_m);
    EXPECT_NE(g.rows % g.raster_m, 0U);
    ++(c.cluster_m == 1 ? single : pairs);
  }
  EXPECT_GT(single, 5U);
  EXPECT_GT(pairs, 5U);
  EXPECT_NE(fuzz_case(config(), 0, 3).raster_m, 0);
}

// Kernels whose CTAs share tokens: in the default run also as two and as three clusters at once.
TEST(Fuzz, MeetsSeveralClustersThatShareTokens) {
  std::map<std::uint32_t, int> pairs, fours;
  for (std::uint64_t number = 1; number <= 300; ++number) {
    const std::size_t kernel = number % std::size(kKernelConfigs);
    const shared::Config& c = kKernelConfigs[kernel];
    if (c.split_k == 1) continue;
    const KernelCase k = fuzz_case(c, kernel, number);
    const shared::TileGrid g =
        shared::tile_grid(c, static_cast<std::int32_t>(k.m), static_cast<std::int32_t>(k.n),
                          static_cast<std::int32_t>(k.counts.size()), 1);
    const auto ctas = static_cast<std::uint32_t>(shared::grid_ctas(c, g, {k.sms, 0}));
    ++(c.split_k == 2 ? pairs : fours)[ctas / static_cast<std::uint32_t>(c.split_k)];
  }
  for (const std::uint32_t clusters : {1U, 2U, 3U}) {
    EXPECT_GT(pairs[clusters], 2);
    EXPECT_GT(fours[clusters], 2);
  }
}

}  // namespace
}  // namespace wgrad::test
