// Every kernel that the planner can choose compiles for sm_90a without spills, within shared memory
// and without a complaint of the compiler. By default a subset in which every two values of two
// fields meet (tile, split, cluster, layouts, output, ...); all of them with
// WGRAD_TEST_ALL_KERNELS=1.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <tuple>

#include "codegen/sm90_source.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "plan/sm90_config.hpp"
#include "support/planned_configs.hpp"
#include "wgrad/shared/smem.hpp"

namespace wgrad::jit {
namespace {

using shared::Config;

/// The fields whose values must meet.
constexpr std::size_t kFactors = 10;
std::array<int, kFactors> factors(const Config& c) {
  return {c.tile_n * 2 + static_cast<int>(c.split),
          c.cluster_m,
          c.split_k,
          static_cast<int>(c.a),
          static_cast<int>(c.b),
          static_cast<int>(c.output),
          static_cast<int>(c.output_mode),
          static_cast<int>(c.accumulate),
          static_cast<int>(c.input),
          static_cast<int>(c.partial_columns)};
}

using Pair = std::tuple<std::size_t, int, std::size_t, int>;

std::vector<Pair> pairs(const Config& c) {
  const auto f = factors(c);
  std::vector<Pair> out;
  for (std::size_t i = 0; i < kFactors; ++i) {
    for (std::size_t j = i + 1; j < kFactors; ++j) out.emplace_back(i, f[i], j, f[j]);
  }
  return out;
}

std::vector<Config> every_config() {
  return test::planned_configs({4096, 4104, 4101});
}

/// Greedily: again and again the configuration with most pairs that have not met.
std::vector<Config> covering_configs() {
  const std::vector<Config> all = every_config();
  std::set<Pair> open;
  for (const Config& c : all) {
    for (const Pair& pair : pairs(c)) open.insert(pair);
  }
  const auto gain = [&](const Config& c) {
    const auto met = pairs(c);
    return std::count_if(met.begin(), met.end(), [&](const Pair& x) { return open.contains(x); });
  };
  std::vector<Config> out;
  while (!open.empty()) {
    out.push_back(*std::max_element(all.begin(), all.end(), [&](const Config& x, const Config& y) {
      return gain(x) < gain(y);
    }));
    for (const Pair& pair : pairs(out.back())) open.erase(pair);
  }
  return out;
}

std::vector<Config> tested_configs() {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  return all != nullptr && std::string(all) == "1" ? every_config() : covering_configs();
}

TEST(Sm90KernelList, CoversEveryPair) {
  std::set<Pair> met;
  for (const Config& c : covering_configs()) {
    for (const Pair& pair : pairs(c)) met.insert(pair);
  }
  const auto all = every_config();
  EXPECT_GT(all.size(), 3000U);
  for (const Config& c : all) {
    for (const Pair& pair : pairs(c)) ASSERT_TRUE(met.contains(pair));
  }
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

class Sm90Kernel : public NvrtcTest, public testing::WithParamInterface<Config> {};

TEST_P(Sm90Kernel, CompilesCleanly) {
  const auto source = codegen::sm90_source(GetParam());
  const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
  const auto usage = resource_usage(cubin.log);
  ASSERT_TRUE(usage) << cubin.log;
  EXPECT_EQ(usage->spill_bytes, 0) << source.text;
  EXPECT_EQ(usage->stack_bytes, 0) << source.text;
  EXPECT_EQ(usage->warnings, "") << source.text;
  EXPECT_LE(usage->registers * shared::threads_per_cta(GetParam()), 65536);
  EXPECT_LE(usage->static_smem_bytes + plan::smem_bytes(GetParam()), 232448);
  // One more means that accumulators are moved about in the main loop, of which ptxas says nothing.
  EXPECT_EQ(register_fences(cubin.bytes), GetParam().tail_n > 0 ? 2 : 1) << source.text;
}

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
    const auto source = codegen::sm90_source(c);
    const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
    const auto usage = resource_usage(cubin.log);
    ASSERT_TRUE(usage) << cubin.log;
    EXPECT_EQ(usage->warnings, "") << source.text;
    EXPECT_EQ(usage->spill_bytes, 0) << source.text;
    EXPECT_LE(usage->registers * shared::threads_per_cta(c), 65536);
  }
}

std::string test_name(const testing::TestParamInfo<Config>& info) {
  const Config& c = info.param;
  return std::to_string(info.index) + "_n" + std::to_string(c.tile_n) + "_cluster" +
         std::to_string(c.cluster_m) + "_shares" + std::to_string(c.split_k) + "_split" +
         std::to_string(static_cast<int>(c.split)) + "_a" + std::to_string(static_cast<int>(c.a)) +
         "_b" + std::to_string(static_cast<int>(c.b)) + "_out" +
         std::to_string(static_cast<int>(c.output));
}

INSTANTIATE_TEST_SUITE_P(Planned, Sm90Kernel, testing::ValuesIn(tested_configs()), test_name);

}  // namespace
}  // namespace wgrad::jit
