// Kernels for block-scaled operands that the planner can choose for SM 10.0 and 10.3 compile
// without spills, within shared and tensor memory and without a complaint of the compiler, and
// their main loops are made of the instructions that they should be made of. By default a subset in
// which every two values of two fields meet, for the two architectures in turn; with
// WGRAD_TEST_ALL_KERNELS=1 every three, for both. Nothing here has run on silicon.
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "core/field_text.hpp"
#include "harness/cases/case.hpp"
#include "jit/machine_code.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm100_scaled/config.hpp"
#include "kernels/sm100_scaled/source.hpp"
#include "support/planned/covering_configs.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/sm100_scaled/smem.hpp"

namespace wgrad::jit {
namespace {

using kernels::sm100_scaled::Config;

// Operations, as cuobjdump of CUDA 13.0 names them.
constexpr std::uint64_t kMultiplyBytes = 0xdea;    // UTCQMMA: kind::mxf8f6f4
constexpr std::uint64_t kMultiplyNibbles = 0x5ea;  // UTCOMMA: kind::mxf4, mxf4nvf4
constexpr std::uint64_t kCopyScales = 0x9e7;       // UTCCP: tcgen05.cp
constexpr std::uint64_t kCommit = 0x3e9;           // UTCBAR: tcgen05.commit
constexpr std::uint64_t kLoadTensor = 0x9ee;       // LDTM: tcgen05.ld

bool all_kernels() {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  return all != nullptr && std::string(all) == "1";
}

/// Every format, layout, output and way to hand over scale factors; by text, each once.
std::vector<Config> planned_configs() {
  std::map<std::string, Config> distinct;
  const auto plan = [&](const Problem& p) {
    if (!validate::broken_rules(p).empty()) return;
    for (const Config& c : kernels::sm100_scaled::allowed_configs(p))
      distinct.emplace(core::field_text(c, "", 100), c);
  };
  for (const harness::NamedFormat& format : harness::formats()) {
    if (!has_swizzled_scales(format)) continue;  // other families'
    for (const harness::Case& variant : harness::input_variants(format, 256, 512, {64})) {
      for (int i = 0; i < 96; ++i) {
        Problem p = harness::problem(variant);
        constexpr DType kOutputs[] = {DType::kBf16, DType::kF32, DType::kF16};
        p.wgrad_dtype = kOutputs[i % 3];
        p.accumulate = i / 3 % 2 == 0;
        p.output_mode = i / 6 % 2 == 0 ? OutputMode::kDiscrete : OutputMode::kDense;
        p.scales->layout = i / 12 % 2 == 0 ? ScaleLayout::kCompact : ScaleLayout::kSwizzled;
        p.scales->global_scale = p.scales->global_scale || i / 24 % 2 == 0;
        if (i / 48 == 1) {
          p.n = p.b_major == Major::kMn ? p.n : 509;
          p.wgrad_row_pitch = 512;
        }
        plan(p);
      }
    }
  }
  std::vector<Config> out;
  out.reserve(distinct.size());
  for (const auto& [text, config] : distinct) out.push_back(config);
  return out;
}

TEST(Sm100ScaledKernelList, EveryOneFitsInSharedAndTensorMemory) {
  const std::vector<Config> all = planned_configs();
  EXPECT_GT(all.size(), 1000U);
  for (const Config& c : all) {
    const std::string text = kernels::sm100_scaled::source(c, 100).text;
    ASSERT_TRUE(is_valid(c)) << text;
    ASSERT_LE(kernels::sm100_scaled::smem_bytes(c), 232448) << text;
    ASSERT_LE(used_tensor_columns(c), 512U) << text;
    ASSERT_GE(c.stages, 3) << text;
  }
}

void expect_machine_code(const Config& c, const Cubin& cubin) {
  const auto code = instructions(cubin.bytes, "wgrad_sm100_scaled");
  ASSERT_GT(code.size(), 100U);
  // One main loop: a multiplication for every 32 bytes of a row, an atom of A and one or two of B
  // for each four columns of scale factors, a commit; a commit at its end.
  const bool packed = bits_of(c.input) == 4;
  EXPECT_EQ(count_of(code, kMultiplyBytes), packed ? 0 : 4);
  EXPECT_EQ(count_of(code, kMultiplyNibbles), packed ? 4 : 0);
  EXPECT_EQ(count_of(code, kCopyScales), stage_atoms(c) * (1 + c.tile_n / 128));
  EXPECT_EQ(count_of(code, kCommit), 2);
  // A box of the output at a time; the last columns.
  EXPECT_EQ(count_of(code, kLoadTensor), c.partial_columns ? 2 : 1);
}

void expect_clean(const Config& c, int arch) {
  const auto source = kernels::sm100_scaled::source(c, arch);
  SCOPED_TRACE(source.options.front() + "\n" + source.text);
  const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
  const auto usage = resource_usage(cubin.log);
  ASSERT_TRUE(usage) << cubin.log;
  EXPECT_EQ(usage->spill_bytes, 0);
  EXPECT_EQ(usage->stack_bytes, 0);
  EXPECT_EQ(usage->warnings, "");
  EXPECT_LE(usage->registers * threads_per_cta(c), 65536);
  EXPECT_LE(usage->static_smem_bytes + kernels::sm100_scaled::smem_bytes(c), 232448);
  expect_machine_code(c, cubin);
}

class Sm100ScaledKernels : public NvrtcTest {};

TEST_F(Sm100ScaledKernels, CompilesCleanly) {
  const std::vector<Config> tested =
      test::covering_configs<Config>(planned_configs(), test::field_factors, all_kernels() ? 3 : 2);
  for (std::size_t i = 0; i < tested.size(); ++i) {
    for (const int arch : {100, 103}) {
      if (all_kernels() || (i % 2 == 0) == (arch == 100)) expect_clean(tested[i], arch);
    }
  }
  RecordProperty("kernels", static_cast<int>(tested.size()));
}

}  // namespace
}  // namespace wgrad::jit
