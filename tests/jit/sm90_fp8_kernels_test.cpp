// Kernels for FP8 operands that the planner can choose compile for sm_90a without a spill, within
// shared memory and without a complaint of the compiler: by default four that between them have
// both ways to sum, both orders and all widths; all of rowwise with WGRAD_TEST_ALL_KERNELS=1.
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "harness/cases/case.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "kernels/sm90_fp8/config.hpp"
#include "kernels/sm90_fp8/source.hpp"

namespace wgrad::jit {
namespace {

std::map<std::string, kernels::KernelSource> sources(bool all) {
  std::map<std::string, kernels::KernelSource> out;
  constexpr DType kOutputs[] = {DType::kF32, DType::kBf16, DType::kF16};
  std::size_t turn = 0;
  for (const harness::NamedFormat& format : harness::formats()) {
    if (format.format != Format::kFp8Rowwise) continue;
    for (const harness::Case& variant : harness::input_variants(format, 256, 524, {64})) {
      for (const bool fast : {false, true}) {
        Problem p = harness::problem(variant);
        p.fast_accumulation = fast;
        p.wgrad_dtype = kOutputs[turn % 3];
        p.accumulate = turn % 2 == 0;
        const auto configs = kernels::sm90_fp8::allowed_configs(p);
        for (std::size_t i = 0; i < configs.size(); ++i) {
          if (!all && (turn % 2 != 0 || i != turn % configs.size())) continue;
          const kernels::KernelSource source = kernels::sm90_fp8::source(configs[i]);
          out.emplace(source.text, source);
        }
        ++turn;
      }
    }
  }
  return out;
}

class Sm90Fp8Kernels : public NvrtcTest {};

TEST_F(Sm90Fp8Kernels, CompilesWithoutSpills) {
  const char* all = std::getenv("WGRAD_TEST_ALL_KERNELS");  // NOLINT(concurrency-mt-unsafe)
  const auto list = sources(all != nullptr && std::string_view(all) == "1");
  ASSERT_GE(list.size(), 4U);
  for (const auto& [text, source] : list) {
    const Cubin cubin = Nvrtc::instance().compile(source, device_headers());
    const auto usage = resource_usage(cubin.log);
    ASSERT_TRUE(usage) << cubin.log;
    EXPECT_EQ(usage->spill_bytes, 0) << text;
    EXPECT_EQ(usage->warnings, "") << text;
    EXPECT_LE(source.shared_bytes, 232448) << source.name;
  }
}

}  // namespace
}  // namespace wgrad::jit
