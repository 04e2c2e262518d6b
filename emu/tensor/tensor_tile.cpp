#include "emu/tensor/tensor_tile.hpp"

#include <fmt/format.h>

#include "emu/fault.hpp"

namespace wgrad::emu {
namespace {

constexpr std::uint32_t kScaleRows = 128;  // whose scale factors come together, 4 columns

void require(bool ok, const std::string& what) {
  if (!ok) throw FaultError(FaultKind::kIllegal, what);
}

OperandTile operand(std::uint64_t bits, bool mn_major, std::uint32_t rows, MmaKind kind,
                    const char* name) {
  OperandTile tile;
  tile.descriptor = MatrixDescriptor::decode_tcgen05(bits, mn_major, name);
  tile.name = name;
  tile.rows = rows;
  tile.depth = shared::mma_depth(kind);
  tile.per_unit = 128 / shared::mma_element_bits(kind);
  return tile;
}

// PTX ISA, 9.7.16.10.5: M 64 fills half of each quarter's lanes.
std::vector<TensorRange> result_ranges(const TensorTiles& t) {
  const std::uint32_t lane = lane_of(t.d), column = column_of(t.d), n = t.instruction.n;
  if (t.instruction.m == 64) {
    require(lane == 0 || lane == 16, fmt::format("results of M = 64 at lane {}", lane));
    std::vector<TensorRange> ranges;
    for (std::uint32_t quarter = 0; quarter < 4; ++quarter)
      ranges.push_back({quarter * kQuarterLanes + lane, 16, column, n});
    return ranges;
  }
  require(lane == 0, fmt::format("results of M = {} at lane {}", t.instruction.m, lane));
  const bool halved = t.ctas == 2 && t.instruction.m == 128;
  return {{0, kTensorLanes, column, halved ? n / 2 : n}};
}

// Scale factors lie in all lanes.
void require_apart(const TensorTiles& t) {
  for (const TensorRange& scale : t.scales) {
    for (const TensorRange& result : t.results) {
      require(scale.column + scale.columns <= result.column ||
                  result.column + result.columns <= scale.column,
              "results over the scale factors that they are multiplied by");
    }
  }
}

TensorRange scale_range(std::uint32_t address, std::uint32_t rows, const char* name) {
  require(lane_of(address) == 0, fmt::format("{} at lane {}", name, lane_of(address)));
  return {0, kTensorLanes, column_of(address), (rows + kQuarterLanes - 1) / kQuarterLanes};
}

}  // namespace

OperandTile scale_atom(std::uint64_t bits) {
  OperandTile tile;
  tile.name = "the atom of scale factors";
  tile.descriptor = MatrixDescriptor::decode_tcgen05(bits, false, tile.name);
  require(tile.descriptor.swizzle == Swizzle::kNone, "a swizzled atom is not modelled");
  tile.rows = kAtomRows;
  tile.depth = tile.per_unit = 16;
  return tile;
}

ResultPlace TensorTiles::place(std::uint32_t i, std::uint32_t j) const {
  const std::uint32_t lane = lane_of(d), column = column_of(d), n = instruction.n;
  if (instruction.m == 64) return {lane + 32 * (i / 16) + i % 16, column + j};
  if (ctas == 2 && instruction.m == 128) return {i + 64 * (j / (n / 2)), column + j % (n / 2)};
  return {i, column + j};
}

TensorTiles TensorTiles::of(const Multiplication& m) {
  TensorTiles t;
  t.instruction = InstructionDescriptor::decode(m.instruction, m.kind, m.ctas);
  t.ctas = m.ctas;
  t.d = m.d;
  const bool scaled = shared::has_block_scales(m.kind);
  require(!scaled || t.rows() == kScaleRows,
          "scale factors of a pair with M = 128 are not modelled");
  t.a = operand(m.a, t.instruction.a_mn_major, t.rows(), m.kind, "A");
  t.b = operand(m.b, t.instruction.b_mn_major, t.instruction.n / m.ctas, m.kind, "B");
  t.results = result_ranges(t);
  if (scaled) {
    t.scales = {scale_range(m.scales_a, t.rows(), "SFA"),
                scale_range(m.scales_b, t.instruction.n, "SFB")};
    require_apart(t);
  }
  return t;
}

}  // namespace wgrad::emu
