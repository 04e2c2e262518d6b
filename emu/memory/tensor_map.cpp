#include "emu/memory/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emu/fault.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint64_t kMagic = 0x70616d5f75656d65;

struct Encoded {
  std::uint64_t magic;
  std::uint64_t base;
  std::uint64_t dims[5];
  std::uint64_t strides[4];
  std::uint16_t box[5];
  std::uint8_t rank;
  std::uint8_t element;
  std::uint8_t swizzle;
  std::uint8_t fill;
};
static_assert(sizeof(Encoded) <= sizeof(shared::TensorMap));

void require(bool ok, const std::string& what) {
  if (!ok) throw FaultError(FaultKind::kIllegal, "tensor map: " + what);
}

void check(const TensorMapFields& f) {
  require(f.rank >= 1 && f.rank <= 5, fmt::format("rank {} is not 1 to 5", f.rank));
  require(f.base % 16 == 0, fmt::format("base address {:#x} is not a multiple of 16", f.base));
  for (std::uint32_t i = 0; i < f.rank; ++i) {
    require(f.dims[i] >= 1 && f.dims[i] <= (std::uint64_t{1} << 32),
            fmt::format("dims[{}] = {}", i, f.dims[i]));
    require(f.box[i] >= 1 && f.box[i] <= 256,
            fmt::format("box[{}] = {} is not 1 to 256", i, f.box[i]));
  }
  for (std::uint32_t i = 0; i + 1 < f.rank; ++i) {
    require(f.strides[i] % 16 == 0 && f.strides[i] < (std::uint64_t{1} << 40),
            fmt::format("strides[{}] = {} is not a multiple of 16 below 2^40", i, f.strides[i]));
  }
  const std::uint32_t inner = row_bytes(f);
  require(inner % 16 == 0, fmt::format("a box row of {} bytes is not a multiple of 16", inner));
  require(f.swizzle == Swizzle::kNone || inner == swizzle_bytes(f.swizzle),
          fmt::format(
              "a box row of {} bytes does not fill the swizzle (narrower rows are not modelled)",
              inner));
}

}  // namespace

std::uint32_t element_bytes(Element element) noexcept {
  return element == Element::kFp32 ? 4 : element == Element::kByte ? 1 : 2;
}

std::uint32_t swizzle_bytes(Swizzle swizzle) noexcept {
  return swizzle == Swizzle::kNone ? 0u : 16u << static_cast<unsigned>(swizzle);
}

shared::TensorMap encode(const TensorMapFields& f) {
  check(f);
  Encoded e{};
  e.magic = kMagic;
  e.base = f.base;
  std::copy_n(f.dims.begin(), 5, e.dims);
  std::copy_n(f.strides.begin(), 4, e.strides);
  for (int i = 0; i < 5; ++i) e.box[i] = static_cast<std::uint16_t>(f.box[i]);
  e.rank = static_cast<std::uint8_t>(f.rank);
  e.element = static_cast<std::uint8_t>(f.element);
  e.swizzle = static_cast<std::uint8_t>(f.swizzle);
  e.fill = static_cast<std::uint8_t>(f.fill);
  shared::TensorMap map{};
  std::memcpy(&map, &e, sizeof e);
  return map;
}

shared::TensorMap encode(const shared::TensorMapRecipe& recipe, std::uint64_t base) {
  TensorMapFields f;
  f.base = base;
  f.rank = recipe.rank;
  constexpr Element kElements[] = {Element::kBf16, Element::kFp16, Element::kFp32, Element::kByte};
  f.element = kElements[static_cast<std::size_t>(recipe.element)];
  f.swizzle = recipe.is_plain ? Swizzle::kNone : Swizzle::k128;
  std::copy_n(recipe.dims, 5, f.dims.begin());
  std::copy_n(recipe.strides, 4, f.strides.begin());
  std::copy_n(recipe.box, 5, f.box.begin());
  return encode(f);
}

TensorMapFields decode(const shared::TensorMap& map) {
  Encoded e{};
  std::memcpy(&e, &map, sizeof e);
  require(reinterpret_cast<std::uintptr_t>(&map) % 64 == 0, "its address is not a multiple of 64");
  require(e.magic == kMagic, "these bytes are no tensor map");
  TensorMapFields f;
  f.base = e.base;
  f.rank = e.rank;
  f.element = static_cast<Element>(e.element);
  std::copy_n(e.dims, 5, f.dims.begin());
  std::copy_n(e.strides, 4, f.strides.begin());
  std::copy_n(e.box, 5, f.box.begin());
  f.swizzle = static_cast<Swizzle>(e.swizzle);
  f.fill = static_cast<Fill>(e.fill);
  return f;
}

std::uint32_t row_bytes(const TensorMapFields& map) noexcept {
  return map.box[0] * element_bytes(map.element);
}

std::uint32_t box_rows(const TensorMapFields& map) noexcept {
  std::uint32_t rows = 1;
  for (std::uint32_t i = 1; i < map.rank; ++i) rows *= map.box[i];
  return rows;
}

BoxRow box_row(const TensorMapFields& map, const std::int32_t* x, std::uint32_t index) noexcept {
  const std::int64_t size = element_bytes(map.element);
  BoxRow row;
  row.address = map.base + static_cast<std::uint64_t>(x[0] * size);
  bool inside = true;
  for (std::uint32_t i = 1; i < map.rank; ++i) {
    const std::int64_t at = x[i] + static_cast<std::int64_t>(index % map.box[i]);
    index /= map.box[i];
    inside = inside && at >= 0 && static_cast<std::uint64_t>(at) < map.dims[i];
    row.address += static_cast<std::uint64_t>(at) * map.strides[i - 1];
  }
  if (!inside) return row;
  const std::int64_t width = map.box[0];
  const std::int64_t first = std::clamp<std::int64_t>(-std::int64_t{x[0]}, 0, width);
  const std::int64_t last =
      std::clamp<std::int64_t>(static_cast<std::int64_t>(map.dims[0]) - x[0], first, width);
  row.first = static_cast<std::uint32_t>(first * size);
  row.last = static_cast<std::uint32_t>(last * size);
  return row;
}

void require_aligned_box(const TensorMapFields& map, const std::int32_t* x) {
  const std::uint64_t address = box_row(map, x, 0).address;
  if (address % 16 == 0) return;
  throw FaultError(
      FaultKind::kMisaligned,
      fmt::format(
          "a tensor box whose first byte {:#x} (innermost coordinate {}) is off a 16-byte address",
          address, x[0]));
}

std::uint32_t swizzled(Swizzle swizzle, std::uint32_t address) noexcept {
  const std::uint32_t mask = (1u << static_cast<unsigned>(swizzle)) - 1;
  return address ^ (((address >> 7) & mask) << 4);
}

}  // namespace wgrad::emu
