#include "kernels/sm90_scaled/source.hpp"

#include <fmt/format.h>

#include <string_view>

#include "core/field_text.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "wgrad/sm90_scaled/params.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using shared::ScaledConfig;

/// Designated initialisers do not reach into a base class.
std::string config_text(const ScaledConfig& c) {
  std::string out = "constexpr ScaledConfig made() {\n  ScaledConfig c;\n";
  ScaledConfig::visit_fields([&](auto field) {
    out += fmt::format("  c.{} = {};\n", field.name, core::value_text(c.*field.member));
  });
  return out + "  return c;\n}\nconstexpr ScaledConfig kConfig = made();\n";
}

/// The compilation fails where host and device would disagree.
std::string agreement_text(const ScaledConfig& c) {
  return fmt::format(
      "static_assert(smem_table(kConfig).total == {}u, \"host and device: shared memory\");\n"
      "static_assert(threads_per_cta(kConfig) == {}, \"host and device: threads\");\n"
      "static_assert(sizeof(ScaledParams) == {}, \"host and device: parameters\");\n",
      shared::smem_table(c).total, shared::threads_per_cta(c), sizeof(shared::ScaledParams));
}

constexpr std::string_view kEntry =
    "extern \"C\" __device__ ClaimCounters wgrad_claims[kClaimSlots];\n"
    "__device__ ClaimCounters wgrad_claims[kClaimSlots];\n\n"
    "extern \"C\" __global__ void __launch_bounds__(threads_per_cta(kConfig), 1)\n"
    "    wgrad_sm90_scaled(const __grid_constant__ ScaledParams params) {\n"
    "  wgrad::device::wgrad_sm90_scaled<kConfig>(params);\n"
    "}\n";

}  // namespace

KernelSource source(const ScaledConfig& c) {
  KernelSource out;
  out.name = fmt::format("wgrad_sm90_scaled {}x{}x{} {} bits", c.tile_m, c.tile_n, c.tile_k,
                         shared::element_bits(c.element_a));
  out.entry = "wgrad_sm90_scaled";
  out.text = fmt::format(
      "#include \"wgrad/sm90_scaled/wgrad_sm90_scaled.cuh\"\n\nusing namespace "
      "wgrad::shared;\n\n{}\n{}\n{}",
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

}  // namespace wgrad::kernels::sm90_scaled
