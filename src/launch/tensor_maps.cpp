#include "launch/tensor_maps.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "launch/driver/driver.hpp"

namespace wgrad::launch {
namespace {

int data_type(shared::MapElement element) {
  switch (element) {
    case shared::MapElement::kFp16:
      return kCuFloat16;
    case shared::MapElement::kFp32:
      return kCuFloat32;
    case shared::MapElement::kByte:
      return kCuUint8;
    default:
      return kCuBfloat16;
  }
}

}  // namespace

shared::TensorMap encode(const DriverApi& api, const shared::TensorMapRecipe& recipe,
                         CuAddress address) {
  static_assert(sizeof(shared::u64) == sizeof(std::uint64_t));
  alignas(128) shared::TensorMap map = {};  // as CUtensorMap is declared
  if (recipe.rank == 0) return map;
  std::array<std::uint64_t, 5> dims = {};
  std::array<std::uint64_t, 4> strides = {};
  constexpr std::array<std::uint32_t, 5> kElementStrides = {1, 1, 1, 1, 1};
  std::copy(std::begin(recipe.dims), std::end(recipe.dims), dims.begin());
  std::copy(std::begin(recipe.strides), std::end(recipe.strides), strides.begin());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): device addresses are integers here
  void* pointer = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  const CuResult result = api.tensor_map_encode(
      &map, data_type(recipe.element), recipe.rank, pointer, dims.data(), strides.data(),
      recipe.box, kElementStrides.data(), kCuInterleaveNone,
      recipe.is_plain ? kCuSwizzleNone : kCuSwizzle128B, kCuL2Promotion256B, kCuFillNone);
  if (result != kCuSuccess) {
    check(
        api, result,
        fmt::format("no tensor map for address {:#x}, dimensions {}, byte strides {}, box {}",
                    address, std::span(dims).first(recipe.rank),
                    std::span(strides).first(recipe.rank - 1), std::span(recipe.box, recipe.rank)));
  }
  return map;
}

}  // namespace wgrad::launch
