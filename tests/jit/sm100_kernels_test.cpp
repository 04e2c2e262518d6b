// Kernels that the planner can choose for SM 10.0 and 10.3 compile without spills, within shared
// and tensor memory and without a complaint of the compiler, and their main loops are made of the
// instructions that they should be made of. By default a subset in which every three values of
// three fields meet, for the two architectures in turn; all of them, for both, with
// WGRAD_TEST_ALL_KERNELS=1, which GTEST_TOTAL_SHARDS divides. Nothing here has run on silicon.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "jit/machine_code.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm100/source.hpp"
#include "support/planned/covering_configs.hpp"
#include "support/planned/planned_configs.hpp"
#include "wgrad/sm100/smem.hpp"

namespace wgrad::jit {
namespace {

using shared::sm100::Config;

constexpr std::int64_t kMostSmem = 232448;  // bytes a CTA may ask for

constexpr int kTogether = 3;

// Operations, as cuobjdump of CUDA 13.0 names them.
constexpr std::uint64_t kMultiply = 0x5ea;    // UTCHMMA: tcgen05.mma kind::f16
constexpr std::uint64_t kCommit = 0x3e9;      // UTCBAR: tcgen05.commit
constexpr std::uint64_t kLoadTensor = 0x9ee;  // LDTM: tcgen05.ld
constexpr std::uint64_t kAllocate = 0x5e3;    // UTCATOMSWS.FIND_AND_SET: tcgen05.alloc

bool all_kernels() {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  return all != nullptr && std::string(all) == "1";
}

const std::vector<Config>& tested_configs() {
  static const std::vector<Config> kTested = [] {
    const auto planned = test::planned_sm100_configs();
    return all_kernels() ? planned
                         : test::covering_configs<Config>(planned, test::field_factors, kTogether);
  }();
  return kTested;
}

TEST(Sm100KernelList, EveryOneFitsInSharedAndTensorMemory) {
  const auto all = test::planned_sm100_configs();
  EXPECT_GT(all.size(), 1000U);
  for (const Config& c : all) {
    const std::string text = kernels::sm100::source(c, 100).text;
    ASSERT_TRUE(is_valid(c)) << text;
    ASSERT_LE(kernels::sm100::smem_bytes(c), kMostSmem) << text;
    ASSERT_LE(2 * c.tile_n, static_cast<int>(tensor_columns(c))) << text;
    ASSERT_LE(tensor_columns(c), 512U) << text;
  }
}

void expect_machine_code(const Config& c, const Cubin& cubin) {
  const auto code = instructions(cubin.bytes, "wgrad_sm100");
  ASSERT_GT(code.size(), 100U);
  // One main loop: a multiplication for every 16 tokens of a stage and a commit; a commit at its
  // end.
  EXPECT_EQ(count_of(code, kMultiply), c.tile_k / shared::kWindowTokens);
  EXPECT_EQ(count_of(code, kCommit), 2);
  // A box of the output at a time; the last columns.
  EXPECT_EQ(count_of(code, kLoadTensor), c.partial_columns ? 2 : 1);
  EXPECT_GE(count_of(code, kAllocate), 1);
}

void expect_clean(const Config& c, int arch) {
  const auto source = kernels::sm100::source(c, arch);
  SCOPED_TRACE(source.options.front() + "\n" + source.text);
  const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
  const auto usage = resource_usage(cubin.log);
  ASSERT_TRUE(usage) << cubin.log;
  EXPECT_EQ(usage->spill_bytes, 0);
  EXPECT_EQ(usage->stack_bytes, 0);
  EXPECT_EQ(usage->warnings, "");
  EXPECT_LE(usage->registers * threads_per_cta(c), 65536);
  EXPECT_LE(usage->static_smem_bytes + kernels::sm100::smem_bytes(c), kMostSmem);
  expect_machine_code(c, cubin);
}

/// Its parameter is the first of some kernels: listing all of them takes a process a second.
class Sm100Kernels : public NvrtcTest, public testing::WithParamInterface<std::size_t> {};
constexpr std::size_t kKernelsOfATest = 8;

TEST_P(Sm100Kernels, CompilesCleanly) {
  const auto& tested = tested_configs();
  const std::size_t end = std::min(GetParam() + kKernelsOfATest, tested.size());
  for (std::size_t i = GetParam(); i < end; ++i) {
    for (const int arch : {100, 103}) {
      if (all_kernels() || (i % 2 == 0) == (arch == 100)) expect_clean(tested[i], arch);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Planned, Sm100Kernels,
                         testing::Range(std::size_t{0}, tested_configs().size(), kKernelsOfATest));

}  // namespace
}  // namespace wgrad::jit
