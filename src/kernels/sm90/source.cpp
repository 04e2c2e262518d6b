#include "kernels/sm90/source.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/field_text.hpp"
#include "kernels/launch_image.hpp"
#include "kernels/sm90/config.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;

std::string config_text(const Config& c) {
  return fmt::format("constexpr Config kConfig{{\n{}}};\n", core::field_text(c, "    ", 100));
}

/// The compilation fails where host and device would disagree.
std::string agreement_text(const Config& c) {
  return fmt::format(
      "static_assert(smem_table(kConfig).total == {}u, \"host and device: shared memory\");\n"
      "static_assert(threads_per_cta(kConfig) == {}, \"host and device: threads\");\n"
      "static_assert(sizeof(KernelParams) == {}, \"host and device: parameters\");\n",
      shared::smem_table(c).total, shared::threads_per_cta(c), sizeof(shared::KernelParams));
}

constexpr std::string_view kEntry =
    "extern \"C\" __device__ ClaimCounters wgrad_claims[kClaimSlots];\n"
    "__device__ ClaimCounters wgrad_claims[kClaimSlots];\n\n"
    "extern \"C\" __global__ void __launch_bounds__(threads_per_cta(kConfig), 1)\n"
    "    wgrad_sm90(const __grid_constant__ KernelParams params) {\n"
    "  wgrad::device::wgrad_sm90<kConfig>(params);\n"
    "}\n";

}  // namespace

KernelSource source(const Config& c) {
  KernelSource out;
  out.name = fmt::format("wgrad_sm90 {}x{}x{} cluster {} split {} {}", c.tile_m, c.tile_n, c.tile_k,
                         c.cluster_m, c.split_k,
                         c.split == shared::WarpgroupSplit::kTiles ? "pingpong" : "cooperative");
  out.entry = "wgrad_sm90";
  out.text = fmt::format(
      "#include \"wgrad/sm90/wgrad_sm90.cuh\"\n\nusing namespace wgrad::shared;\n\n{}\n{}\n{}",
      config_text(c), agreement_text(c), kEntry);
  out.options = {"--gpu-architecture=sm_90a", "--std=c++20", "--device-as-default-execution-space",
                 "--ptxas-options=-v"};
  out.arch = 90;
  out.shared_bytes = static_cast<int>(smem_bytes(c));
  return out;
}

KernelSource source_of(const plan::Plan& plan) {
  return source(plan.config.as<LaunchConfig>().kernel);
}

}  // namespace wgrad::kernels::sm90
