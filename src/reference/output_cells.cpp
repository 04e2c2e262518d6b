#include "reference/output_cells.hpp"

#include <cstring>

#include "scales/codec.hpp"

namespace wgrad::reference {
namespace {

std::uint32_t encode(DType dtype, double value) {
  using scales::Overflow;
  if (dtype == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return dtype == DType::kBf16 ? scales::encode<scales::kBf16Format>(value, Overflow::kInfinity)
                               : scales::encode<scales::kF16Format>(value, Overflow::kInfinity);
}

}  // namespace

OutputCells::OutputCells(const Problem& p, const Operands& o, std::size_t e)
    : dtype_(p.wgrad_dtype), pitch_(row_pitch(p)) {
  if (p.output_mode == OutputMode::kDiscrete) {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the contract hands addresses over as integers
    base_ = reinterpret_cast<std::uint8_t*>(o.wgrad_ptrs[e]);
  } else {
    base_ = static_cast<std::uint8_t*>(o.wgrad) +
            static_cast<std::int64_t>(e) * expert_stride(p) * (bits(dtype_) / 8);
  }
}

std::uint8_t* OutputCells::cell(std::int64_t i, std::int64_t j) const {
  return base_ + (i * pitch_ + j) * (bits(dtype_) / 8);
}

double OutputCells::load(std::int64_t i, std::int64_t j) const {
  std::uint32_t code = 0;
  std::memcpy(&code, cell(i, j), static_cast<std::size_t>(bits(dtype_)) / 8);
  return scales::decode(dtype_, code);
}

void OutputCells::store(std::int64_t i, std::int64_t j, double value) const {
  const std::uint32_t code = encode(dtype_, value);
  std::memcpy(cell(i, j), &code, static_cast<std::size_t>(bits(dtype_)) / 8);
}

}  // namespace wgrad::reference
