// Kernels for block-scaled operands that the planner can choose compile for sm_90a with next to no
// spills, within shared memory and without a complaint of the compiler. By default a few that
// between them have every format, layout and output; all of one expert's with
// WGRAD_TEST_ALL_KERNELS=1.
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "harness/cases/case.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/source.hpp"

namespace wgrad::jit {
namespace {

// Of stores and loads together, most of them in the warp that reads scale factors ahead (48 or 56
// registers), once a raw stage: docs/notes/2026-12-01-token-major-in-registers.md.
constexpr int kMostSpillBytes = 192;

/// By text, so that the choice of some does not follow the headers.
std::map<std::string, kernels::KernelSource> planned_sources(const Problem& p) {
  std::map<std::string, kernels::KernelSource> out;
  for (const shared::ScaledConfig& c : kernels::sm90_scaled::allowed_configs(p)) {
    const kernels::KernelSource source = kernels::sm90_scaled::source(c);
    out.emplace(source.text, source);
  }
  return out;
}

/// Outputs, layouts and modes in turn, format after format.
std::map<std::string, kernels::KernelSource> sources(bool all) {
  constexpr DType kOutputs[] = {DType::kBf16, DType::kF32, DType::kF16};
  std::map<std::string, kernels::KernelSource> out;
  std::size_t turn = 0;
  for (const harness::NamedFormat& format : harness::formats()) {
    if (!has_swizzled_scales(format)) continue;  // other families'
    for (const harness::Case& variant : harness::input_variants(format, 256, 264 * 2, {64})) {
      Problem p = harness::problem(variant);
      p.wgrad_dtype = kOutputs[turn % 3];
      p.accumulate = turn % 2 == 0;
      p.output_mode = turn % 5 < 2 ? OutputMode::kDiscrete : OutputMode::kDense;
      p.scales->layout = turn % 3 == 1 ? ScaleLayout::kCompact : ScaleLayout::kSwizzled;
      if (turn % 4 == 3) p.scales->global_scale = true;
      auto planned = planned_sources(p);
      if (!all) {  // one of them
        auto chosen = planned.extract(planned.begin());
        planned.clear();
        if (turn % 6 == 0) planned.insert(std::move(chosen));
      }
      out.merge(planned);
      ++turn;
    }
  }
  return out;
}

class Sm90ScaledKernels : public NvrtcTest {};

TEST_F(Sm90ScaledKernels, CompilesCleanly) {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  const auto list = sources(all != nullptr && std::string_view(all) == "1");
  ASSERT_GE(list.size(), 4U);
  for (const auto& [text, source] : list) {
    const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
    const auto usage = resource_usage(cubin.log);
    ASSERT_TRUE(usage) << cubin.log;
    EXPECT_LE(usage->spill_bytes, kMostSpillBytes) << text;
    RecordProperty(source.digest(), usage->spill_bytes);
    EXPECT_EQ(usage->warnings, "") << text;
    EXPECT_LE(source.shared_bytes, 232448) << source.name;
  }
}

}  // namespace
}  // namespace wgrad::jit
