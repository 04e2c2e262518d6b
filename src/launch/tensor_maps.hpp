// Tensor maps: from a recipe and an address to the 128 bytes that a kernel takes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "launch/driver/driver_api.hpp"
#include "wgrad/shared/tensor_map.hpp"

namespace wgrad::launch {

/// Throws RuntimeError where the driver refuses the recipe.
shared::TensorMap encode(const DriverApi& api, const shared::TensorMapRecipe& recipe,
                         CuAddress address);

/// All that a map depends on.
struct MapKey {
  shared::TensorMapRecipe recipe = {};
  CuAddress base = 0;

  bool operator==(const MapKey&) const = default;
};

/// Remembers the last maps of one operand. A map is a pure function of its key, so that a hit is
/// right whatever became of the memory meanwhile. Threads never wait: who finds a slot in use
/// encodes anew.
class MapMemo {
 public:
  shared::TensorMap get(const DriverApi& api, const MapKey& key) {
    Slot& slot = slots_[index(key)];
    if (slot.busy.exchange(true, std::memory_order_acquire)) {
      return encode(api, key.recipe, key.base);
    }
    const Release release(slot.busy);
    if (!slot.filled || slot.key != key) {
      slot.filled = false;
      slot.map = encode(api, key.recipe, key.base);
      slot.key = key;
      slot.filled = true;
    }
    return slot.map;
  }

 private:
  static constexpr std::size_t kSlots = 32;

  struct Slot {
    std::atomic<bool> busy = false;
    bool filled = false;
    MapKey key;
    shared::TensorMap map = {};
  };
  class Release {
   public:
    explicit Release(std::atomic<bool>& busy) : busy_(busy) {}
    Release(const Release&) = delete;
    Release& operator=(const Release&) = delete;
    ~Release() { busy_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& busy_;
  };

  static std::size_t index(const MapKey& key) noexcept {
    return (key.base * 0x9E3779B97F4A7C15ULL + key.recipe.dims[0]) >> 59;
  }
  static_assert(kSlots == std::size_t{1} << 5, "index() keeps five bits");

  std::array<Slot, kSlots> slots_ = {};
};

}  // namespace wgrad::launch
