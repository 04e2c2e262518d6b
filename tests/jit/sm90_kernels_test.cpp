// Kernels that the planner can choose compile for sm_90a without spills, within shared memory and
// without a complaint of the compiler. By default a subset in which every three values of three
// fields meet (tile, split, cluster, layouts, output, tail, ...); all of them with
// WGRAD_TEST_ALL_KERNELS=1, hours of one core, which GTEST_TOTAL_SHARDS divides.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/source.hpp"
#include "support/planned/covering_configs.hpp"
#include "support/planned/planned_configs.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::jit {
namespace {

using shared::Config;

constexpr std::int64_t kMostSmem = 232448;  // bytes a CTA may ask for on SM 9.0

constexpr int kTogether = 3;

std::vector<Config> covering(const std::vector<Config>& all) {
  return test::covering_configs<Config>(all, test::field_factors, kTogether);
}

TEST(Sm90KernelList, CoversEveryTriple) {
  const auto all = test::planned_configs();
  EXPECT_GT(all.size(), 10'000U);
  const auto triples = [](const Config& c) {
    return test::meetings(test::field_factors(c), kTogether);
  };
  std::unordered_set<test::Meeting> met;
  for (const Config& c : covering(all)) {
    for (const test::Meeting triple : triples(c)) met.insert(triple);
  }
  for (const Config& c : all) {
    for (const test::Meeting triple : triples(c)) ASSERT_TRUE(met.contains(triple));
  }
}

TEST(Sm90KernelList, HoldsEveryLastTileOfARow) {
  std::map<int, std::set<int>> tails;
  for (const Config& c : test::planned_configs()) tails[c.tile_n].insert(c.tail_n);
  const std::map<int, std::set<int>> want = {
      {64, {0}}, {128, {0, 64}}, {192, {0, 64, 128}}, {256, {0, 64, 128, 192}}};
  EXPECT_EQ(tails, want);
}

TEST(Sm90KernelList, EveryOneFitsInSharedMemory) {
  for (const Config& c : test::planned_configs()) {
    ASSERT_LE(kernels::sm90::smem_bytes(c), kMostSmem) << kernels::sm90::source(c).text;
  }
}

const std::vector<Config>& tested_configs() {
  static const std::vector<Config> kTested = [] {
    const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
    const auto planned = test::planned_configs();
    return all != nullptr && std::string(all) == "1" ? planned : covering(planned);
  }();
  return kTested;
}

/// How often the code makes the warpgroup's registers ready for wgmma (WARPGROUP.ARRIVE in the
/// instruction's low half, found with cuobjdump -sass).
std::ptrdiff_t register_fences(const std::string& cubin) {
  constexpr std::uint64_t kArrive = 0x79c5;
  std::ptrdiff_t count = 0;
  for (std::size_t at = 0; at + 16 <= cubin.size(); at += 16) {
    std::uint64_t low = 0;
    std::memcpy(&low, cubin.data() + at, sizeof low);
    if (low == kArrive) ++count;
  }
  return count;
}

void expect_clean(const Config& c) {
  const auto source = kernels::sm90::source(c);
  const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
  const auto usage = resource_usage(cubin.log);
  ASSERT_TRUE(usage) << cubin.log;
  EXPECT_EQ(usage->spill_bytes, 0) << source.text;
  EXPECT_EQ(usage->stack_bytes, 0) << source.text;
  EXPECT_EQ(usage->warnings, "") << source.text;
  EXPECT_LE(usage->registers * shared::threads_per_cta(c), 65536) << source.text;
  EXPECT_LE(usage->static_smem_bytes + kernels::sm90::smem_bytes(c), kMostSmem) << source.text;
  // One more means that accumulators are moved about in the main loop, of which ptxas says nothing.
  EXPECT_EQ(register_fences(cubin.bytes), c.tail_n > 0 ? 2 : 1) << source.text;
}

/// Its parameter is the first of some kernels: listing all of them takes a process a second.
class Sm90Kernels : public NvrtcTest, public testing::WithParamInterface<std::size_t> {};
constexpr std::size_t kKernelsOfATest = 8;

TEST_P(Sm90Kernels, CompilesCleanly) {
  const auto& tested = tested_configs();
  const std::size_t end = std::min(GetParam() + kKernelsOfATest, tested.size());
  for (std::size_t i = GetParam(); i < end; ++i) expect_clean(tested[i]);
}

INSTANTIATE_TEST_SUITE_P(Planned, Sm90Kernels,
                         testing::Range(std::size_t{0}, tested_configs().size(), kKernelsOfATest));

// Timestamps may take registers, but not so many that wgmma serialises or the launch fails.
TEST_F(NvrtcTest, TracedKernelsCompile) {
  for (const shared::WarpgroupSplit split :
       {shared::WarpgroupSplit::kRows, shared::WarpgroupSplit::kTiles}) {
    Config c;
    c.tile_n = split == shared::WarpgroupSplit::kRows ? 256 : 128;
    c.cluster_m = 2;
    c.split = split;
    c.stages = shared::max_stages(c);
    c.trace = true;
    const auto source = kernels::sm90::source(c);
    const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
    const auto usage = resource_usage(cubin.log);
    ASSERT_TRUE(usage) << cubin.log;
    EXPECT_EQ(usage->warnings, "") << source.text;
    EXPECT_EQ(usage->spill_bytes, 0) << source.text;
    EXPECT_LE(usage->registers * shared::threads_per_cta(c), 65536);
  }
}

// Of a kernel whose CTAs exchange parts: the form for racecheck is another one, as clean.
TEST_F(NvrtcTest, KernelsWhoseLanesArriveCompile) {
  Config c;
  c.cluster_m = 1;
  c.split_k = 2;
  c.stages = shared::max_stages(c);
  const auto source = kernels::sm90::source(c);
  core::Environment environment;
  const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
  environment.nvrtc_options = {"-DWGRAD_LANES_ARRIVE"};
  const auto by_lanes = with_options_of(environment, source);
  const Cubin lanes = Nvrtc::instance().compile(by_lanes, device_headers());
  EXPECT_NE(by_lanes.digest(), source.digest());
  EXPECT_NE(lanes.bytes, cubin.bytes);
  const auto usage = resource_usage(lanes.log);
  ASSERT_TRUE(usage) << lanes.log;
  EXPECT_EQ(usage->warnings, "");
}

}  // namespace
}  // namespace wgrad::jit
