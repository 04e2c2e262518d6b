#include "backends/emu_scaled.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/tensor_map.hpp"
#include "kernels/launch_image.hpp"
#include "kernels/sm90_scaled/config.hpp"
#include "kernels/sm90_scaled/image.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::backends {
namespace {

using shared::ScaledConfig;
using shared::ScaledParams;

/// Do they differ in nothing that the problem asks for? Any kernel may store columns one by one.
bool serves(const ScaledConfig& kernel, ScaledConfig wanted) {
  if (kernel.partial_columns) wanted.partial_columns = true;
  return same_fields(kernel, wanted, shared::FieldOrigin::kProblem);
}

std::uint64_t bytes_of(const validate::OperandView& v, DType dtype) {
  if (v.width == 0) return 0;
  const std::int64_t elements = v.ld_matters ? (v.rows - 1) * v.ld + v.width : v.rows * v.width;
  return static_cast<std::uint64_t>((elements * bits(dtype) + 7) / 8);
}

void add_outputs(emu::GlobalMemory& memory, const Problem& p, const Operands& o) {
  const std::int64_t size = bits(p.wgrad_dtype) / 8;
  const std::int64_t matrix = ((p.m - 1) * row_pitch(p) + p.n) * size;
  const auto add = [&](const std::string& name, const void* data, std::int64_t bytes) {
    memory.add(name, data, static_cast<std::uint64_t>(bytes), emu::Permission::kReadWrite);
  };
  if (p.output_mode == OutputMode::kDense)
    return add("wgrad", o.wgrad, (p.experts - 1) * expert_stride(p) * size + matrix);
  memory.add("wgrad_ptrs", o.wgrad_ptrs, static_cast<std::uint64_t>(p.experts) * 8,
             emu::Permission::kRead);
  for (std::int64_t e = 0; e < p.experts; ++e) {
    const std::int64_t pointer = o.wgrad_ptrs[e];
    if (pointer == 0 || pointer % 16 != 0) continue;  // a fault the kernel must not touch
    add(fmt::format("wgrad_ptrs[{}]", e), reinterpret_cast<const void*>(pointer), matrix);
  }
}

void add_inputs(emu::GlobalMemory& memory, const Problem& p, const Operands& o) {
  const auto add = [&](const char* name, const void* data, std::uint64_t bytes) {
    memory.add(name, data, bytes, emu::Permission::kRead);
  };
  const auto scales = [&](std::int64_t rows, std::int64_t cols) {
    return static_cast<std::uint64_t>(scale_bytes(rows, cols, p.scales->layout));
  };
  add("A", o.a, bytes_of(validate::view_a(p, o), p.a_dtype));
  add("B", o.b, bytes_of(validate::view_b(p, o), p.b_dtype));
  add("offsets", o.offsets, static_cast<std::uint64_t>(p.experts) * 4);
  add("sfa", o.sfa, scales(p.m, o.sfa_cols));
  add("sfb", o.sfb, scales(p.n, o.sfb_cols));
  if (!p.scales->global_scale) return;
  add("global_scale_a", o.global_scale_a, static_cast<std::uint64_t>(p.experts) * 4);
  add("global_scale_b", o.global_scale_b, static_cast<std::uint64_t>(p.experts) * 4);
}

std::vector<emu::SharedRegion> regions_of(const ScaledConfig& c) {
  const shared::ScaledSmemLayout s = shared::smem_layout(c);
  const auto count = [](std::int32_t n) { return static_cast<std::uint32_t>(n); };
  const std::uint32_t stages = count(c.stages), raw = count(c.raw_stages);
  const std::uint32_t slots = count(shared::math_warps(c) * c.ring_slots);
  const std::uint32_t barrier = shared::kBarrierBytes;
  return {{"decoded a", s.a, shared::a_stage_bytes(c), shared::decoded_a_tiles(c)},
          {"decoded b", s.b, shared::b_stage_bytes(c), stages},
          {"output ring slot", s.ring, count(shared::output_box_bytes(c)), slots},
          {"raw a", s.raw_a, count(shared::raw_a_bytes(c)), raw},
          {"raw b", s.raw_b, count(shared::raw_b_bytes(c)), raw},
          {"scales a", s.scales_a, shared::scale_bytes_a(c), raw},
          {"scales b", s.scales_b, shared::scale_bytes_b(c), raw},
          {"multipliers", s.multipliers, shared::multiplier_bytes(c), 2},
          {"columns", s.columns, 4, shared::kColumnCheckpoints},
          {"work scales", s.work_scales, 16, shared::kWorkSlots},
          {"flags", s.flags, shared::kFlagBytes, stages},
          {"work entry", s.work, shared::kWorkBytes, shared::kWorkSlots},
          {"raw full", s.raw_full, barrier, raw},
          {"raw empty", s.raw_empty, barrier, raw},
          {"full", s.full, barrier, stages},
          {"empty", s.empty, barrier, stages},
          {"readback", s.readback, barrier, slots},
          {"work full", s.work_full, barrier, shared::kWorkSlots},
          {"work empty", s.work_empty, barrier, shared::kWorkSlots},
          {"order", s.order, 2, count(shared::kMaxOrderedExperts)}};
}

ScaledParams parameters(kernels::LaunchImage& image, shared::FaultRecord& fault,
                        shared::ClaimCounters* claims) {
  for (std::uint32_t i = 0; i < image.map_count; ++i)
    image.put_map(image.maps[i], emu::encode(image.maps[i].recipe, image.maps[i].base));
  image.put_address(image.fault_at, reinterpret_cast<std::uint64_t>(&fault));
  image.put_address(image.claims_at, reinterpret_cast<std::uint64_t>(claims));
  ScaledParams params{};
  std::memcpy(static_cast<void*>(&params), image.parameters.data(), sizeof params);
  return params;
}

constexpr std::uint32_t kRegisterFile = 65536;

}  // namespace

std::vector<const ScaledEmuKernel*> usable_scaled(const Problem& problem,
                                                  const DeviceSpec& device) {
  const auto allowed = kernels::sm90_scaled::allowed_configs(problem);
  std::vector<const ScaledEmuKernel*> out;
  for (const ScaledEmuKernel& kernel : emu_scaled_kernels()) {
    const bool any = std::any_of(allowed.begin(), allowed.end(),
                                 [&](const ScaledConfig& c) { return serves(kernel.config, c); });
    if (any && kernels::sm90_scaled::fits(kernel.config, problem, device)) out.push_back(&kernel);
  }
  return out;
}

emu::Outcome launch_emulated(const ScaledEmuKernel& kernel, const Problem& problem,
                             const Operands& operands, const EmuSettings& settings,
                             shared::FaultRecord& fault) {
  Operands o = operands;
  if (problem.output_mode == OutputMode::kDiscrete && o.wgrad == nullptr) {
    // Any address on 16 bytes will do as the map's base.
    o.wgrad = reinterpret_cast<void*>(std::int64_t{1} << 40);
  }
  DeviceSpec device;
  device.sm_count = settings.sm_count;
  plan::Plan plan;
  plan.config = kernels::sm90_scaled::launch_values(kernel.config, problem, device);
  kernels::LaunchImage image = kernels::sm90_scaled::image(problem, plan, o);
  shared::ClaimCounters claims{};
  const ScaledParams params = parameters(image, fault, settings.claim_tiles ? &claims : nullptr);
  emu::GlobalMemory memory;
  add_inputs(memory, problem, o);
  add_outputs(memory, problem, o);
  memory.add("fault record", &fault, sizeof fault, emu::Permission::kReadWrite);
  memory.add("claims", &claims, sizeof claims, emu::Permission::kReadWrite);
  emu::Launch launch;
  launch.kernel = [&] { kernel.run(params); };
  launch.ctas = image.grid;
  launch.cluster_size = image.cluster;
  launch.threads = image.block;
  launch.shared_bytes = image.shared_bytes;
  launch.registers = kRegisterFile / image.block / 8 * 8;
  launch.resident_ctas =
      static_cast<std::uint32_t>(settings.sm_count) * static_cast<std::uint32_t>(settings.launches);
  launch.programmatic = true;
  launch.regions = regions_of(kernel.config);
  const std::vector<emu::Launch> stream(settings.launches, launch);
  emu::Outcome outcome = emu::run(stream, memory, settings.adversary);
  if (!outcome.fault && (claims.claimed != 0 || claims.left != 0)) {
    outcome.fault = {emu::FaultKind::kIllegal, "the claim counters are left uncleared", ""};
  }
  return outcome;
}

}  // namespace wgrad::backends
