// Kernels that the planner can choose compile for sm_90a without spills, within shared memory and
// without a complaint of the compiler. By default a subset in which every three values of three
// fields meet (tile, split, cluster, layouts, output, tail, ...); all of them with
// WGRAD_TEST_ALL_KERNELS=1, hours of one core, which GTEST_TOTAL_SHARDS divides.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/source.hpp"
#include "support/planned_configs.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::jit {
namespace {

using shared::Config;

constexpr std::int64_t kMostSmem = 232448;  // bytes a CTA may ask for on SM 9.0

/// What must meet: the tile's width and split as one, and every field that follows from no other.
std::vector<int> factors(const Config& c) {
  std::vector<int> out = {c.tile_n * 2 + static_cast<int>(c.split)};
  Config::visit_fields([&](auto field) {
    if (field.origin != shared::FieldOrigin::kDepth)
      out.push_back(static_cast<int>(c.*field.member));
  });
  return out;
}

/// Three fields and their values.
using Triple = std::array<int, 6>;

std::vector<Triple> triples(const Config& c) {
  const auto f = factors(c);
  std::vector<Triple> out;
  for (std::size_t i = 0; i < f.size(); ++i) {
    for (std::size_t j = i + 1; j < f.size(); ++j) {
      for (std::size_t k = j + 1; k < f.size(); ++k)
        out.push_back(
            {static_cast<int>(i), static_cast<int>(j), static_cast<int>(k), f[i], f[j], f[k]});
    }
  }
  return out;
}

/// Greedily: again and again the configuration with most triples that have not met.
std::vector<Config> covering_configs(const std::vector<Config>& all) {
  std::map<Triple, std::size_t> numbers;
  std::vector<std::vector<std::size_t>> numbered;
  for (const Config& c : all) {
    auto& of_config = numbered.emplace_back();
    for (const Triple& triple : triples(c))
      of_config.push_back(numbers.try_emplace(triple, numbers.size()).first->second);
  }
  std::vector<char> open(numbers.size(), 1);
  const auto gain = [&](const std::vector<std::size_t>& of_config) {
    return std::count_if(of_config.begin(), of_config.end(),
                         [&](std::size_t number) { return open[number] != 0; });
  };
  std::vector<Config> out;
  while (std::count(open.begin(), open.end(), 1) > 0) {
    std::vector<std::ptrdiff_t> gains(all.size());
    std::transform(numbered.begin(), numbered.end(), gains.begin(), gain);
    const auto best = std::max_element(gains.begin(), gains.end()) - gains.begin();
    out.push_back(all[static_cast<std::size_t>(best)]);
    for (const std::size_t number : numbered[static_cast<std::size_t>(best)]) open[number] = 0;
  }
  return out;
}

TEST(Sm90KernelList, CoversEveryTriple) {
  const auto all = test::planned_configs();
  EXPECT_GT(all.size(), 10'000U);
  std::set<Triple> met;
  for (const Config& c : covering_configs(all)) {
    for (const Triple& triple : triples(c)) met.insert(triple);
  }
  for (const Config& c : all) {
    for (const Triple& triple : triples(c)) ASSERT_TRUE(met.contains(triple));
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
    return all != nullptr && std::string(all) == "1" ? planned : covering_configs(planned);
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

}  // namespace
}  // namespace wgrad::jit
