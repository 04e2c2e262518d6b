#include "plan/cpu_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "wgrad/scale_layout.hpp"

namespace wgrad::plan {

CpuConfig plan_cpu(const Problem& p, const DeviceSpec& device) {
  CpuConfig config;
  config.tile_m = std::min<std::int64_t>(p.m, 512);
  config.tile_n = std::min<std::int64_t>(p.n, 512);
  config.tile_k = 512;
  config.threads = std::max(device.threads, 1);
  config.native_bf16 = device.avx512_bf16 || device.amx_bf16;
  return config;
}

std::string summary(const CpuConfig& c) {
  return fmt::format("cpu tile {}x{}x{} threads {} {}", c.tile_m, c.tile_n, c.tile_k, c.threads,
                     c.native_bf16 ? "bf16" : "widened to float32");
}

}  // namespace wgrad::plan
