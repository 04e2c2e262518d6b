// The grouped weight gradient on a CPU: every expert, every output tile, by one thread or several.
#pragma once

#include <memory>

#include "cpu/tiles/tile_matmul.hpp"
#include "plan/cpu_plan.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::cpu {

/// Made once for a problem and plan; run() from several threads at once.
///
/// An expert's bits depend on that expert's data and on the plan's tile sizes, which depend on M,
/// N, formats and the CPU's caches: never on the thread count, the other experts or T.
class GroupedMatmul {
 public:
  GroupedMatmul(const Problem& problem, const plan::CpuConfig& config);
  /// With another matmul of the type that `config` calls for.
  GroupedMatmul(const Problem& problem, const plan::CpuConfig& config,
                std::unique_ptr<const TileMatmul> matmul);

  /// `operands` break no rule, of offsets and addresses included.
  void run(const Operands& operands) const;

 private:
  Problem problem_;
  plan::CpuConfig config_;
  std::unique_ptr<const TileMatmul> matmul_;
};

}  // namespace wgrad::cpu
