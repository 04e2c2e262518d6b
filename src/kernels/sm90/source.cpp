#include "kernels/sm90/source.hpp"

#include <fmt/format.h>

#include "core/field_text.hpp"
#include "kernels/sm90/config.hpp"
#include "wgrad/shared/params.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::kernels::sm90 {
namespace {

using shared::Config;

std::string config_text(const Config& c) {
  return fmt::format("constexpr Config kConfig{{\n{}}};\n", core::field_text(c, "    ", 100));
}

}  // namespace

KernelSource unit(const Unit& u) {
  KernelSource out;
  out.name = fmt::format("wgrad_{} {}", u.kernel, u.shape);
  out.entry = fmt::format("wgrad_{}", u.kernel);
  // The compilation fails where host and device would disagree.
  out.text = fmt::format(
      "#include \"wgrad/{0}/wgrad_{0}.cuh\"\n\nusing namespace wgrad::shared;\n\n{1}\n"
      "static_assert(smem_table(kConfig).total == {2}u, \"host and device: shared memory\");\n"
      "static_assert(threads_per_cta(kConfig) == {3}, \"host and device: threads\");\n"
      "static_assert(sizeof({4}) == {5}, \"host and device: parameters\");\n\n"
      "extern \"C\" __device__ ClaimCounters wgrad_claims[kClaimSlots];\n"
      "__device__ ClaimCounters wgrad_claims[kClaimSlots];\n\n"
      "extern \"C\" __global__ void __launch_bounds__(threads_per_cta(kConfig), 1)\n"
      "    wgrad_{0}(const __grid_constant__ {4} params) {{\n"
      "  wgrad::device::wgrad_{0}<kConfig>(params);\n"
      "}}\n",
      u.kernel, u.config_text, u.shared_bytes, u.threads, u.parameters, u.parameter_bytes);
  out.options = {fmt::format("--gpu-architecture=sm_{}a", u.arch), "--std=c++20",
                 "--device-as-default-execution-space", "--ptxas-options=-v"};
  out.arch = u.arch;
  out.shared_bytes = static_cast<int>(u.shared_bytes);
  return out;
}

KernelSource source(const Config& c) {
  return unit(
      {.kernel = "sm90",
       .shape = fmt::format("{}x{}x{} cluster {} split {}{} {}", c.tile_m, c.tile_n, c.tile_k,
                            c.cluster_m, c.split_k, c.workspace_split ? " in the workspace" : "",
                            c.split == shared::WarpgroupSplit::kTiles ? "pingpong" : "cooperative"),
       .config_text = config_text(c),
       .parameters = "KernelParams",
       .parameter_bytes = sizeof(shared::KernelParams),
       .shared_bytes = shared::smem_table(c).total,
       .threads = shared::threads_per_cta(c)});
}

KernelSource source_of(const plan::Plan& plan) {
  return source(plan.config.as<LaunchConfig>().kernel);
}

}  // namespace wgrad::kernels::sm90
