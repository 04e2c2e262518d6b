// The moment at which a tcgen05 instruction happens: operands are read, results written, a commit
// arrives.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emu/arithmetic/half.hpp"
#include "emu/arithmetic/multiply.hpp"
#include "emu/arithmetic/scaled_multiply.hpp"
#include "emu/cluster.hpp"
#include "emu/tensor/tensor_tile.hpp"

namespace wgrad::emu {
namespace {

std::vector<Cta*> ctas_of(const TensorPipe& pipe, std::uint32_t ctas) {
  if (ctas == 1) return {pipe.cta};
  return {pipe.cta, &pipe.cta->cluster->cta(pipe.cta->rank ^ 1)};
}

// Descriptors hold the issuing CTA's addresses: the peer has the same offsets.
const std::uint8_t* bytes_at(const TensorPipe& pipe, const Cta& cta, std::uint32_t address) {
  return &cta.bytes[address - pipe.cta->base];
}

/// A place in shared memory that holds `per_unit` elements.
template <typename Use>
void for_each_element(const TensorPipe& pipe, const Cta& cta, const OperandTile& tile,
                      const Use& use) {
  tile.for_each_unit([&](std::uint32_t row, std::uint32_t k, std::uint32_t address) {
    const std::uint8_t* unit = bytes_at(pipe, cta, address);
    for (std::uint32_t e = 0; e < tile.per_unit; ++e) {
      const bool mn = tile.descriptor.mn_major;
      use(mn ? row + e : row, mn ? k : k + e, unit, e);
    }
  });
}

float half_value(const std::uint8_t* unit, std::uint32_t e, MmaElement type) {
  std::uint16_t raw = 0;
  std::memcpy(&raw, unit + std::size_t{2} * e, 2);
  return type == MmaElement::kFp16 ? fp16_to_float(raw) : bf16_to_float(raw);
}

std::uint8_t code_at(const std::uint8_t* unit, std::uint32_t e, MmaElement type) {
  if (type != MmaElement::kE2m1) return unit[e];
  return static_cast<std::uint8_t>(unit[e / 2] >> (e % 2 * 4) & 15);
}

/// The results of one CTA, row by row.
class Results {
 public:
  Results(Cta& cta, const TensorTiles& tiles, bool keep)
      : cta_(&cta), tiles_(&tiles), values_(std::size_t{tiles.rows()} * tiles.instruction.n) {
    if (keep)
      each([](float& value, const std::uint32_t& word) { value = std::bit_cast<float>(word); });
  }
  float* values() { return values_.data(); }
  void write() {
    each([](const float& value, std::uint32_t& word) {
      word = std::bit_cast<std::uint32_t>(value);
    });
  }

 private:
  template <typename Use>
  void each(const Use& use) {
    float* value = values_.data();
    for (std::uint32_t i = 0; i < tiles_->rows(); ++i) {
      for (std::uint32_t j = 0; j < tiles_->instruction.n; ++j, ++value) {
        const ResultPlace place = tiles_->place(i, j);
        use(*value, cta_->tensor.words(place.lane)[place.column]);
      }
    }
  }

  Cta* cta_;
  const TensorTiles* tiles_;
  std::vector<float> values_;
};

void multiply_halves(const TensorPipe& pipe, const Multiplication& m, const TensorTiles& t) {
  const std::vector<Cta*> ctas = ctas_of(pipe, m.ctas);
  const std::uint32_t n = t.instruction.n, rows = t.rows();
  std::vector<float> a(std::size_t{rows} * kWgmmaDepth), b(std::size_t{kWgmmaDepth} * n);
  for (std::size_t c = 0; c < ctas.size(); ++c) {
    for_each_element(pipe, *ctas[c], t.b, [&](auto row, auto k, const auto* unit, auto e) {
      b[k * n + c * t.b.rows + row] = half_value(unit, e, t.instruction.b);
    });
  }
  for (Cta* cta : ctas) {
    for_each_element(pipe, *cta, t.a, [&](auto row, auto k, const auto* unit, auto e) {
      a[row * kWgmmaDepth + k] = half_value(unit, e, t.instruction.a);
    });
    Results results(*cta, t, m.accumulate);
    multiply(results.values(), a.data(), b.data(), rows, n, t.instruction.a == MmaElement::kFp16);
    results.write();
  }
}

// PTX ISA, 9.7.16.10.7: row r in lane r % 32, column + r / 32, the same in each quarter.
void read_scales(const Cta& cta, std::uint32_t address, std::uint32_t byte, const char* name,
                 std::uint32_t per_row, ScaledOperand& out) {
  for (std::uint32_t row = 0; row < out.rows; ++row) {
    const std::uint32_t lane = row % kQuarterLanes,
                        column = column_of(address) + row / kQuarterLanes;
    const auto word_of = [&](std::uint32_t quarter) {
      return cta.tensor.words(quarter * kQuarterLanes + lane)[column] >> (8 * byte);
    };
    const std::uint32_t mask = per_row == 4 ? ~0u : (1u << 8 * per_row) - 1;
    for (std::uint32_t quarter = 1; quarter < 4; ++quarter) {
      if (((word_of(0) ^ word_of(quarter)) & mask) == 0) continue;
      throw FaultError(
          FaultKind::kIllegal,
          fmt::format("{} of row {} differs between lanes {} and {} of column {} of "
                      "tensor memory of CTA {}",
                      name, row, lane, quarter * kQuarterLanes + lane, column, cta.block));
    }
    for (std::uint32_t i = 0; i < per_row; ++i)
      out.scales.push_back(static_cast<std::uint8_t>(word_of(0) >> (8 * i)));
  }
}

shared::ElementType element_of(MmaElement type) {
  return type == MmaElement::kE4m3   ? shared::ElementType::kE4m3
         : type == MmaElement::kE5m2 ? shared::ElementType::kE5m2
                                     : shared::ElementType::kE2m1;
}

ScaledOperand operand_of(const TensorPipe& pipe, const std::vector<Cta*>& ctas,
                         const OperandTile& tile, MmaElement type) {
  ScaledOperand out;
  out.type = element_of(type);
  out.rows = tile.rows * static_cast<std::uint32_t>(ctas.size());
  out.codes.resize(std::size_t{out.rows} * tile.depth);
  for (std::size_t c = 0; c < ctas.size(); ++c) {
    for_each_element(pipe, *ctas[c], tile, [&](auto row, auto k, const auto* unit, auto e) {
      out.codes[(c * tile.rows + row) * tile.depth + k] = code_at(unit, e, type);
    });
  }
  return out;
}

// Each CTA multiplies by the scale factors in its own tensor memory, all N of them.
void multiply_scaled(const TensorPipe& pipe, const Multiplication& m, const TensorTiles& t) {
  const std::vector<Cta*> ctas = ctas_of(pipe, m.ctas);
  const InstructionDescriptor& d = t.instruction;
  const std::uint32_t per_row = shared::mma_scales(m.kind);
  const ScaledOperand all_b = operand_of(pipe, ctas, t.b, d.b);
  for (Cta* cta : ctas) {
    ScaledOperand a = operand_of(pipe, {cta}, t.a, d.a), b = all_b;
    read_scales(*cta, m.scales_a, d.scale_byte_a, "SFA", per_row, a);
    read_scales(*cta, m.scales_b, d.scale_byte_b, "SFB", per_row, b);
    Results results(*cta, t, m.accumulate);
    if (m.kind == MmaKind::kMxf8f6f4) {
      multiply_mxf8f6f4(results.values(), a, b);
    } else {
      multiply_mxf4(results.values(), a, b,
                    d.e8m0 ? shared::ScaleType::kE8m0 : shared::ScaleType::kE4m3);
    }
    results.write();
  }
}

void copy_scales(const TensorPipe& pipe, const TensorWork& work) {
  const OperandTile source = scale_atom(work.atom);
  for (Cta* cta : ctas_of(pipe, work.ctas)) {
    source.for_each_unit([&](std::uint32_t row, std::uint32_t, std::uint32_t address) {
      for (std::uint32_t quarter = 0; quarter < 4; ++quarter) {
        std::memcpy(cta->tensor.words(quarter * kQuarterLanes + row) + work.column,
                    bytes_at(pipe, *cta, address), 16);
      }
    });
  }
}

void commit(Cluster& cluster, const TensorPipe& pipe, const TensorWork& work) {
  for (std::uint32_t rank = 0; rank < cluster.size(); ++rank) {
    if ((work.mask >> rank & 1) == 0) continue;
    Cta& cta = cluster.cta(rank);
    Mbarrier& barrier = cta.barrier(cta.base + work.barrier, "tcgen05_commit");
    if (cta.live == 0) {
      throw FaultError(FaultKind::kIllegal,
                       fmt::format("a commit arrives at mbarrier {}, whose CTA has exited",
                                   cta.describe(work.barrier)));
    }
    arrive_committed(cta, barrier, pipe, work.number, work.known);
  }
}

}  // namespace

void execute_tensor(Cluster& cluster, TensorPipe& pipe) {
  const TensorWork work = std::move(pipe.work.front());
  pipe.work.pop_front();
  switch (work.kind) {
    case TensorWorkKind::kMultiply: {
      const TensorTiles tiles = TensorTiles::of(work.multiplication);
      if (work.multiplication.kind == MmaKind::kF16)
        return multiply_halves(pipe, work.multiplication, tiles);
      return multiply_scaled(pipe, work.multiplication, tiles);
    }
    case TensorWorkKind::kCopy:
      return copy_scales(pipe, work);
    case TensorWorkKind::kCommit:
      return commit(cluster, pipe, work);
  }
}

}  // namespace wgrad::emu
