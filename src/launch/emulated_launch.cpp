#include "launch/emulated_launch.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "emu/memory/tensor_map.hpp"
#include "kernels/family.hpp"
#include "kernels/launch_image.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/shared/params.hpp"

namespace wgrad::launch {
namespace {

using kernels::LaunchImage;

constexpr std::uint32_t kRegisterFile = 65536;  // of an SM; launch bounds leave one CTA all of it
constexpr std::uint32_t kRegisterUnit = 8;

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// From an operand's first byte to its last.
std::uint64_t operand_bytes(const validate::OperandView& v, DType dtype) {
  if (v.rows == 0 || v.width == 0) return 0;
  const std::int64_t elements = v.ld_matters ? (v.rows - 1) * v.ld + v.width : v.rows * v.width;
  return static_cast<std::uint64_t>((elements * bits(dtype) + 7) / 8);
}

void add_outputs(emu::GlobalMemory& memory, const Problem& p, const Operands& o) {
  const std::int64_t size = bits(p.wgrad_dtype) / 8;
  const std::int64_t matrix = ((p.m - 1) * row_pitch(p) + p.n) * size;
  if (p.output_mode == OutputMode::kDense) {
    const std::int64_t last = (p.experts - 1) * expert_stride(p) * size;
    memory.add("wgrad", o.wgrad, static_cast<std::uint64_t>(last + matrix),
               emu::Permission::kReadWrite);
    return;
  }
  memory.add("wgrad_ptrs", o.wgrad_ptrs, static_cast<std::uint64_t>(p.experts) * 8,
             emu::Permission::kRead);
  for (std::int64_t e = 0; e < p.experts; ++e) {
    const std::int64_t pointer = o.wgrad_ptrs[e];
    if (pointer == 0 || pointer % 16 != 0) continue;  // a fault the kernel must not touch
    memory.add(fmt::format("wgrad_ptrs[{}]", e), reinterpret_cast<const void*>(pointer),
               static_cast<std::uint64_t>(matrix), emu::Permission::kReadWrite);
  }
}

void add_scales(emu::GlobalMemory& memory, const Problem& p, const Operands& o) {
  const auto add = [&](const char* name, const void* data, std::int64_t bytes) {
    memory.add(name, data, static_cast<std::uint64_t>(bytes), emu::Permission::kRead);
  };
  const std::int64_t size = bits(p.scales->dtype) / 8;
  add("sfa", o.sfa, scale_bytes(p.m, o.sfa_cols, p.scales->layout) * size);
  add("sfb", o.sfb, scale_bytes(p.n, o.sfb_cols, p.scales->layout) * size);
  if (!p.scales->global_scale) return;
  add("global_scale_a", o.global_scale_a, p.experts * 4);
  add("global_scale_b", o.global_scale_b, p.experts * 4);
}

}  // namespace

void add_memory(emu::GlobalMemory& memory, const Problem& p, const plan::Plan& plan,
                const Operands& o) {
  memory.add("A", o.a, operand_bytes(validate::view_a(p, o), p.a_dtype), emu::Permission::kRead);
  memory.add("B", o.b, operand_bytes(validate::view_b(p, o), p.b_dtype), emu::Permission::kRead);
  memory.add("offsets", o.offsets, static_cast<std::uint64_t>(p.experts) * 4,
             emu::Permission::kRead);
  if (p.scales) add_scales(memory, p, o);
  add_outputs(memory, p, o);
  for (const plan::WorkspaceRegion& region : plan.workspace) {
    const auto* first = static_cast<const std::byte*>(o.workspace);
    memory.add(std::string(region.name), first + plan::region_offset(plan, region.name),
               static_cast<std::uint64_t>(region.bytes), emu::Permission::kReadWrite);
  }
}

emu::Launch machine_launch(kernels::EmulatedKernel kernel, const kernels::LaunchImage& image) {
  emu::Launch launch;
  launch.kernel = [&image, kernel] { kernel(image.parameters.data()); };
  launch.ctas = image.grid;
  launch.cluster_size = image.cluster;
  launch.threads = image.block;
  launch.shared_bytes = image.shared_bytes;
  launch.registers = kRegisterFile / image.block / kRegisterUnit * kRegisterUnit;
  launch.programmatic = true;
  return launch;
}

emu::Outcome launch_emulated(kernels::EmulatedKernel kernel, const Problem& problem,
                             const plan::Plan& plan, const Operands& operands,
                             const EmulatedSettings& settings, shared::FaultRecord& fault) {
  LaunchImage image = plan.family->image(problem, plan, operands);
  for (std::uint32_t i = 0; i < image.map_count; ++i)
    image.put_map(image.maps[i], emu::encode(image.maps[i].recipe, image.maps[i].base));
  shared::ClaimCounters claims{};
  image.put_address(image.fault_at, address(&fault));
  if (image.claims_at != LaunchImage::kNowhere && settings.claim_tiles)
    image.put_address(image.claims_at, address(&claims));
  emu::GlobalMemory memory;
  add_memory(memory, problem, plan, operands);
  memory.add("fault record", &fault, sizeof fault, emu::Permission::kReadWrite);
  memory.add("claims", &claims, sizeof claims, emu::Permission::kReadWrite);
  emu::Launch launch = machine_launch(kernel, image);
  launch.regions = plan.family->emulated()->shared_regions(plan);
  // Room for all launches at once: the next one begins as early as it is let.
  launch.resident_ctas = image.grid * static_cast<std::uint32_t>(settings.launches);
  const std::vector<emu::Launch> stream(settings.launches, launch);
  emu::Outcome outcome = emu::run(stream, memory, settings.adversary);
  plan.family->emulated()->record_engines(plan, outcome.spans, operands.workspace);
  if (!outcome.fault && (claims.claimed != 0 || claims.left != 0)) {
    outcome.fault = {emu::FaultKind::kIllegal, "the claim counters are left uncleared", ""};
  }
  return outcome;
}

}  // namespace wgrad::launch
