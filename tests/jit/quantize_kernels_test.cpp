// Kernels that quantise compile for sm_90a without spills and without a complaint of the compiler:
// by default a few that between them have every source, order and format, all with
// WGRAD_TEST_ALL_KERNELS=1.
#include <cstdlib>
#include <string_view>
#include <vector>

#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "quantize/images.hpp"

namespace wgrad::jit {
namespace {

using quantize::KernelId;
using quantize::Stage;
using shared::ElementType;
using shared::QuantizeConfig;
using shared::ScaleType;
using shared::SourceOrder;
using shared::SourceType;

/// One of each format, with what else NVFP4 may be asked for.
std::vector<QuantizeConfig> formats() {
  std::vector<QuantizeConfig> out(3);
  out[1].element = ElementType::kE5m2;
  out[1].mn_major = true;
  out[2].element = ElementType::kE2m1;
  for (const bool stochastic : {false, true}) {
    for (const bool hadamard : {false, true}) {
      QuantizeConfig c;
      c.element = ElementType::kE2m1;
      c.scale = ScaleType::kE4m3;
      c.stochastic = stochastic;
      c.hadamard = hadamard;
      out.push_back(c);
    }
  }
  return out;
}

std::vector<KernelId> kernels(bool all) {
  std::vector<KernelId> out = {{Stage::kTable, {}}};
  std::size_t turn = 0;
  for (QuantizeConfig c : formats()) {
    for (const SourceType source : {SourceType::kBf16, SourceType::kFp16, SourceType::kFp32}) {
      for (const SourceOrder order :
           {SourceOrder::kRowPairs, SourceOrder::kTokens, SourceOrder::kElements}) {
        c.source = source;
        c.order = order;
        if (!all && turn++ % 8 != 0) continue;
        out.push_back({Stage::kCodes, c});
        if (c.scale == ScaleType::kE4m3 && !c.stochastic) out.push_back({Stage::kAmax, c});
      }
    }
  }
  return out;
}

class QuantizeKernels : public NvrtcTest {};

TEST_F(QuantizeKernels, CompileCleanly) {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  for (const KernelId& kernel : kernels(all != nullptr && std::string_view(all) == "1")) {
    const kernels::KernelSource source = quantize::source(kernel);
    const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
    const auto usage = resource_usage(cubin.log);
    ASSERT_TRUE(usage) << cubin.log;
    EXPECT_EQ(usage->spill_bytes, 0) << source.text;
    EXPECT_EQ(usage->stack_bytes, 0) << source.text;
    EXPECT_EQ(usage->warnings, "") << source.text;
  }
}

}  // namespace
}  // namespace wgrad::jit
