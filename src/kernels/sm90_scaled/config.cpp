#include "kernels/sm90_scaled/config.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/sm90/config.hpp"
#include "kernels/sm90_scaled/emulated/kernels.hpp"
#include "wgrad/shared/schedule.hpp"
#include "wgrad/sm90_scaled/smem.hpp"

namespace wgrad::kernels::sm90_scaled {
namespace {

using shared::OperandLayout;
using shared::ScaledConfig;

/// What a planner chooses; the rest follows from the problem.
struct Choice {
  int tile_m;
  int tile_n;
  bool registers_a;
};
constexpr Choice kChoices[] = {{256, 128, true}, {128, 256, false}, {128, 128, false}};

OperandLayout raw_layout(Major major, InputOrder order) {
  if (major == Major::kMn) return OperandLayout::kMnMajor;
  return order == InputOrder::kTensorRagged ? OperandLayout::kKMajorRagged : OperandLayout::kKMajor;
}

OperandLayout decoded_layout(Major major) {
  return major == Major::kMn ? OperandLayout::kMnMajor : OperandLayout::kKMajor;
}

void describe_format(ScaledConfig& c, const Problem& p) {
  const bool e8m0 = p.scales->dtype == DType::kE8m0;
  c.element_a = element_type(p.a_dtype);
  c.element_b = element_type(p.b_dtype);
  c.scale = e8m0 ? shared::ScaleType::kE8m0 : shared::ScaleType::kE4m3;
  c.input = e8m0 ? shared::InputType::kBf16 : shared::InputType::kFp16;
  c.vec_size = p.scales->vec_size;
  c.storage = p.scales->layout == ScaleLayout::kSwizzled ? shared::ScaleStorage::kAtoms
                                                         : shared::ScaleStorage::kCompact;
  c.global_scale = p.scales->global_scale;
}

ScaledConfig kernel_config(const Problem& p, const Choice& choice) {
  ScaledConfig c;
  describe_format(c, p);
  c.tile_m = choice.tile_m;
  c.tile_n = choice.tile_n;
  c.registers_a = choice.registers_a;
  c.output = sm90::output_type(p.wgrad_dtype);
  c.raw_a = raw_layout(p.a_major, p.input_order);
  c.raw_b = raw_layout(p.b_major, p.input_order);
  c.a = decoded_layout(p.a_major);
  c.b = decoded_layout(p.b_major);
  c.output_mode = p.output_mode == OutputMode::kDiscrete ? shared::OutputMode::kDiscrete
                                                         : shared::OutputMode::kDense;
  c.accumulate = p.accumulate;
  c.partial_columns = shared::needs_partial_columns(c.output, p.n);
  // Raw stages of FP8 are what the copy engine is late with; FP4's hold twice the tokens.
  const bool packed = c.element_a == shared::ElementType::kE2m1;
  c.stages = choice.registers_a && packed ? 4 : 2;
  c.ring_slots = 2;
  c.converters = choice.registers_a || choice.tile_n == 256 ? 1 : 2;
  c.raw_stages = shared::max_raw_stages(c);
  return c;
}

/// What mma_tiler_mn and cluster_shape_mn leave open.
bool tiling_allows(const Tiling& t, const Choice& choice) {
  const bool alone = t.cluster_m == 0 || (t.cluster_m == 1 && t.cluster_n == 1);
  const bool free_tile = t.tile_m == 256 && t.tile_n == 256;
  return alone && (free_tile || (t.tile_m == choice.tile_m && t.tile_n == choice.tile_n));
}

}  // namespace

shared::ElementType element_type(DType dtype) {
  if (dtype == DType::kE2m1) return shared::ElementType::kE2m1;
  return dtype == DType::kE5m2 ? shared::ElementType::kE5m2 : shared::ElementType::kE4m3;
}

std::string element_name(shared::ElementType t) {
  return t == shared::ElementType::kE4m3   ? "e4m3"
         : t == shared::ElementType::kE5m2 ? "e5m2"
                                           : "e2m1";
}

std::vector<ScaledConfig> allowed_configs(const Problem& p) {
  std::vector<ScaledConfig> out;
  for (const Choice& choice : kChoices) {
    if (!tiling_allows(p.tiling, choice)) continue;
    const ScaledConfig c = kernel_config(p, choice);
    if (shared::is_valid(c)) out.push_back(c);
  }
  return out;
}

std::int64_t smem_bytes(const ScaledConfig& c) {
  return static_cast<std::int64_t>(shared::smem_table(c).total);
}

bool fits(const ScaledConfig& c, const Problem& p, const DeviceSpec& device) {
  return sm90::usable_sms(device) > 0 && smem_bytes(c) <= device.smem_bytes &&
         sm90::tile_count(c, p) <= sm90::kMaxTiles;
}

std::vector<ScaledConfig> fitting_configs(const Problem& p, const DeviceSpec& device) {
  std::vector<ScaledConfig> out = allowed_configs(p);
  std::erase_if(out, [&](const ScaledConfig& c) { return !fits(c, p, device); });
  return out;
}

/// Do they differ in nothing that the problem asks for? Any kernel may store columns one by one.
bool computes(const ScaledConfig& kernel, ScaledConfig wanted) {
  if (kernel.partial_columns) wanted.partial_columns = true;
  return same_fields(kernel, wanted, shared::FieldOrigin::kProblem);
}

std::vector<ScaledConfig> offered_configs(const Problem& p, const DeviceSpec& device) {
  if (device.kind != DeviceKind::kEmulated) return fitting_configs(p, device);
  const auto allowed = allowed_configs(p);
  std::vector<ScaledConfig> out;
  for (const CompiledKernel& kernel : emulated_kernels()) {
    const bool any = std::any_of(allowed.begin(), allowed.end(),
                                 [&](const ScaledConfig& c) { return computes(kernel.config, c); });
    if (any && fits(kernel.config, p, device)) out.push_back(kernel.config);
  }
  return out;
}

LaunchConfig launch_values(const ScaledConfig& c, const Problem& p, const DeviceSpec& device) {
  return sm90::launch_of<LaunchConfig>(c, smem_bytes(c), p, device);
}

std::string summary(const LaunchConfig& config) {
  const ScaledConfig& c = config.kernel;
  return fmt::format(
      "sm90 scaled {}x{}x{} {} x {} decoded to {}, {} raw and {} decoded stages, {} converter{}, "
      "{}ring {}, raster {}, grid {}, {} KiB",
      c.tile_m, c.tile_n, c.tile_k, element_name(c.element_a), element_name(c.element_b),
      c.input == shared::InputType::kBf16 ? "bf16" : "fp16", c.raw_stages, c.stages, c.converters,
      c.converters == 1 ? "" : "s", c.registers_a ? "A in registers, " : "", c.ring_slots,
      config.raster_m, config.grid, config.smem_bytes / 1024);
}

}  // namespace wgrad::kernels::sm90_scaled
