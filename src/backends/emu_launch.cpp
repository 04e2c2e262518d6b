#include "backends/emu_launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "emu/tensor_map.hpp"
#include "kernels/sm90/config.hpp"
#include "kernels/sm90/image.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/shared/tensor_map.hpp"
#include "wgrad/shared/trace.hpp"
#include "wgrad/sm90/smem.hpp"

namespace wgrad::backends {
namespace {

using shared::Config;
using shared::KernelParams;
using shared::OperandLayout;

// Bytes from an operand's first element to its last.
std::int64_t operand_bytes(OperandLayout layout, std::int64_t extent, std::int64_t tokens,
                           std::int64_t ld) {
  if (extent == 0 || tokens == 0) return 0;
  if (layout == OperandLayout::kKMajorRagged) return extent * tokens * 2;
  const std::int64_t lines = layout == OperandLayout::kKMajor ? extent : tokens;
  const std::int64_t length = layout == OperandLayout::kKMajor ? tokens : extent;
  return ((lines - 1) * ld + length) * 2;
}

std::uint64_t address(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

shared::TensorMap map_or_none(const shared::TensorMapRecipe& recipe, std::uint64_t base) {
  return recipe.rank == 0 ? shared::TensorMap{} : emu::encode(recipe, base);
}

struct Extents {
  std::int64_t a_ld;
  std::int64_t b_ld;
};

KernelParams params_of(const Config& c, const Problem& p, const Operands& o, const Extents& ld,
                       std::int32_t sm_count, shared::FaultRecord& fault) {
  const std::int64_t size = shared::output_bytes(c);
  KernelParams k{};
  k.map_a = map_or_none(shared::a_map(c, p.m, o.tokens, ld.a_ld), address(o.a));
  k.map_b = map_or_none(shared::b_map(c, p.n, o.tokens, ld.b_ld), address(o.b));
  k.a = address(o.a);
  k.b = address(o.b);
  k.offsets = address(o.offsets);
  k.out_map_base = address(o.wgrad);
  k.map_out = emu::encode(shared::output_map(c, p.m, p.n, row_pitch(p) * size), k.out_map_base);
  k.wgrad = address(o.wgrad);
  k.expert_stride_bytes = expert_stride(p) * size;
  k.wgrad_ptrs = address(o.wgrad_ptrs);
  k.fault = address(&fault);
  k.row_pitch_bytes = row_pitch(p) * size;
  k.tokens = o.tokens;
  k.m = static_cast<std::int32_t>(p.m);
  k.n = static_cast<std::int32_t>(p.n);
  k.experts = static_cast<std::int32_t>(p.experts);
  k.token_alignment = shared::operands_alignment(c, k.a, ld.a_ld, k.b, ld.b_ld);
  k.raster_m = shared::default_raster_m(c, {sm_count, 0});
  k.trace = address(o.workspace);
  return k;
}

void add_outputs(emu::GlobalMemory& memory, const Config& c, const Problem& p, const Operands& o) {
  const std::int64_t matrix = ((p.m - 1) * row_pitch(p) + p.n) * shared::output_bytes(c);
  if (p.output_mode == OutputMode::kDense) {
    const std::int64_t last = (p.experts - 1) * expert_stride(p) * shared::output_bytes(c);
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

void add_memory(emu::GlobalMemory& memory, const Config& c, const Problem& p, const Operands& o,
                const Extents& ld, shared::FaultRecord& fault) {
  const auto size = [](std::int64_t bytes) { return static_cast<std::uint64_t>(bytes); };
  memory.add("A", o.a, size(operand_bytes(c.a, p.m, o.tokens, ld.a_ld)), emu::Permission::kRead);
  memory.add("B", o.b, size(operand_bytes(c.b, p.n, o.tokens, ld.b_ld)), emu::Permission::kRead);
  memory.add("offsets", o.offsets, size(p.experts * 4), emu::Permission::kRead);
  memory.add("fault record", &fault, sizeof fault, emu::Permission::kReadWrite);
  add_outputs(memory, c, p, o);
  if (c.trace) {
    memory.add("trace", o.workspace, size(o.workspace_bytes), emu::Permission::kReadWrite);
  }
}

/// What the engines did, into their tracks.
void record_engines(const Config& c, const std::vector<emu::EngineSpan>& spans, void* workspace) {
  auto* events = static_cast<shared::TraceEvent*>(workspace);
  constexpr shared::TraceKind kKinds[] = {shared::TraceKind::kEngineLoad,
                                          shared::TraceKind::kEngineMultiply,
                                          shared::TraceKind::kEngineStore};
  std::map<std::uint64_t, std::uint32_t> used;
  for (const emu::EngineSpan& span : spans) {
    const auto engine = static_cast<std::uint32_t>(span.engine);
    const std::uint32_t track = shared::trace_tracks(c) - shared::kTraceEngines + engine;
    const std::uint64_t first = shared::trace_track(c, span.cta, track);
    std::uint32_t& count = used[first];
    if (count == shared::kTraceEvents) continue;
    events[first + count++] = {static_cast<std::uint32_t>(span.begin),
                               static_cast<std::uint32_t>(span.end), kKinds[engine], span.amount};
  }
}

std::vector<emu::SharedRegion> regions_of(const Config& c) {
  const shared::SmemLayout s = shared::smem_layout(c);
  const auto stages = static_cast<std::uint32_t>(c.stages);
  const auto warps = static_cast<std::uint32_t>(shared::math_warps(c));
  const std::uint32_t claims = shared::claims_together(c) ? shared::kClaimSlotsAhead : 0;
  const std::uint32_t slots = warps * static_cast<std::uint32_t>(c.ring_slots);
  return {
      {"a stage", s.a, shared::a_stage_bytes(c), stages},
      {"b stage", s.b, shared::b_stage_bytes(c), stages},
      {"output ring slot", s.ring, static_cast<std::uint32_t>(shared::output_box_bytes(c)), slots},
      {"full", s.full, shared::kBarrierBytes, stages},
      {"empty", s.empty, shared::kBarrierBytes, stages},
      {"readback", s.readback, shared::kBarrierBytes, slots},
      {"parts full", s.parts_full, shared::kBarrierBytes, c.split_k > 1 ? warps : 0},
      {"parts room", s.parts_room, shared::kBarrierBytes, c.split_k > 1 ? warps : 0},
      {"parts read", s.parts_read, shared::kBarrierBytes, c.split_k > 1 ? shared::kWorkSlots : 0},
      {"turn", s.turn, shared::kBarrierBytes, static_cast<std::uint32_t>(shared::kMathWarpgroups)},
      {"work entry", s.work, shared::kWorkBytes, shared::kWorkSlots},
      {"work full", s.work_full, shared::kBarrierBytes, shared::kWorkSlots},
      {"work empty", s.work_empty, shared::kBarrierBytes, shared::kWorkSlots},
      {"claim", s.claims, shared::kClaimBytes, claims},
      {"claim told", s.claim_told, shared::kBarrierBytes, claims},
      {"claim heard", s.claim_heard, shared::kBarrierBytes, claims},
      {"order", s.order, 2, static_cast<std::uint32_t>(shared::kMaxOrderedExperts)}};
}

/// kMnMajor loads any extent.
bool loads(OperandLayout kernel, OperandLayout wanted) {
  return kernel == wanted ||
         (kernel == OperandLayout::kMnMajor && wanted == OperandLayout::kMnMajorBlocked);
}

}  // namespace

bool serves(const Config& c, const Problem& p) {
  if (p.scales) return false;
  const auto mode = p.output_mode == OutputMode::kDense ? shared::OutputMode::kDense
                                                        : shared::OutputMode::kDiscrete;
  const shared::OutputType output = kernels::sm90::output_type(p.wgrad_dtype);
  return c.input == kernels::sm90::input_type(p.a_dtype) && c.output == output &&
         loads(c.a, kernels::sm90::layout_of(p.a_major, p.input_order, p.m)) &&
         loads(c.b, kernels::sm90::layout_of(p.b_major, p.input_order, p.n)) &&
         c.output_mode == mode && c.accumulate == p.accumulate &&
         (c.partial_columns || !shared::needs_partial_columns(output, p.n));
}

emu::Outcome launch_emulated(const EmuKernel& kernel, const Problem& problem,
                             const Operands& operands, const EmuSettings& settings,
                             shared::FaultRecord& fault) {
  const Config& c = kernel.config;
  Operands o = operands;
  if (problem.output_mode == OutputMode::kDiscrete && o.wgrad == nullptr) {
    // Any address on 16 bytes will do as the map's base.
    o.wgrad = reinterpret_cast<void*>(std::int64_t{1} << 40);
  }
  const Extents ld{kernels::sm90::map_ld_a(problem, o), kernels::sm90::map_ld_b(problem, o)};
  KernelParams params = params_of(c, problem, o, ld, settings.sm_count, fault);
  if (settings.raster_m > 0) params.raster_m = settings.raster_m;
  shared::ClaimCounters claims{};
  if (settings.claim_tiles) params.claims = reinterpret_cast<std::uint64_t>(&claims);
  emu::GlobalMemory memory;
  add_memory(memory, c, problem, o, ld, fault);
  memory.add("claims", &claims, sizeof claims, emu::Permission::kReadWrite);
  const shared::TileGrid grid =
      shared::tile_grid(c, params.m, params.n, params.experts, params.raster_m);
  emu::Launch launch;
  launch.kernel = [&] { kernel.run(params); };
  launch.ctas = shared::grid_ctas(c, grid, {settings.sm_count, 0});
  launch.cluster_size = static_cast<std::uint32_t>(shared::cluster_ctas(c));
  launch.threads = static_cast<std::uint32_t>(shared::threads_per_cta(c));
  launch.shared_bytes = shared::smem_layout(c).total;
  // Room for all launches at once: the next one begins as early as it is let.
  launch.resident_ctas =
      static_cast<std::uint32_t>(settings.sm_count) * static_cast<std::uint32_t>(settings.launches);
  launch.programmatic = true;
  launch.regions = regions_of(c);
  const std::vector<emu::Launch> stream(settings.launches, launch);
  emu::Outcome outcome = emu::run(stream, memory, settings.adversary);
  if (c.trace) record_engines(c, outcome.spans, o.workspace);
  if (!outcome.fault && (claims.claimed != 0 || claims.left != 0)) {
    outcome.fault = {emu::FaultKind::kIllegal, "the claim counters are left uncleared", ""};
  }
  return outcome;
}

}  // namespace wgrad::backends
