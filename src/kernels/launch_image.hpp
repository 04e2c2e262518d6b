// What one launch is, whoever makes it: a pure function of problem, plan and operands. A launcher
// adds what only it has: encoded tensor maps, and the addresses of a fault record and of counters.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "wgrad/shared/params.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::kernels {

/// A global of every kernel's module: shared::kClaimSlots counters, zeroed.
inline constexpr const char* kClaimsSymbol = "wgrad_claims";

/// A tensor map that the launcher encodes into the parameters. Recipe and base are all that it
/// depends on, and so the key under which it may be remembered.
struct TensorMapSlot {
  shared::TensorMapRecipe recipe = {};
  std::uint64_t base = 0;  ///< address of the tensor's first element
  std::uint32_t at = 0;    ///< byte of the parameters where the encoded map begins
};

struct LaunchImage {
  static constexpr std::size_t kMostParameterBytes = 768;
  static constexpr std::size_t kMostMaps = 6;
  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  std::uint32_t grid = 1;          ///< CTAs
  std::uint32_t cluster = 1;       ///< CTAs of a cluster
  std::uint32_t block = 1;         ///< threads of a CTA
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory of a CTA
  bool overlaps =
      false;  ///< may begin, without touching memory, under the end of the launch before
  alignas(64) std::array<std::byte, kMostParameterBytes> parameters = {};
  std::uint32_t parameter_bytes = 0;
  std::array<TensorMapSlot, kMostMaps> maps = {};
  std::uint32_t map_count = 0;
  std::uint32_t fault_at = kNowhere;   ///< where the address of a shared::FaultRecord goes
  std::uint32_t claims_at = kNowhere;  ///< of shared::ClaimCounters; 0 may go there: tiles are then
                                       ///< dealt out in turn

  template <typename Parameters>
  void set_parameters(const Parameters& values) {
    static_assert(std::is_trivially_copyable_v<Parameters>);
    static_assert(sizeof(Parameters) <= kMostParameterBytes);
    static_assert(alignof(Parameters) <= 64);
    std::memcpy(parameters.data(), &values, sizeof values);
    parameter_bytes = sizeof values;
  }
  /// Adds nothing for a recipe of rank 0: the operand takes no map.
  void add_map(std::size_t at, const shared::TensorMapRecipe& recipe, std::uint64_t base) {
    if (recipe.rank == 0) return;
    maps[map_count++] = {recipe, base, static_cast<std::uint32_t>(at)};
  }

  void put_map(const TensorMapSlot& slot, const shared::TensorMap& encoded) {
    std::memcpy(&parameters[slot.at], &encoded, sizeof encoded);
  }
  void put_address(std::uint32_t at, std::uint64_t address) {
    std::memcpy(&parameters[at], &address, sizeof address);
  }
};

}  // namespace wgrad::kernels
