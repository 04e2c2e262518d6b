#include "reference/operand_reader.hpp"

#include <cstring>

#include "scales/codec.hpp"

namespace wgrad::reference {

ExpertRange expert_range(const Operands& operands, std::size_t expert) {
  const std::int64_t begin = expert == 0 ? 0 : operands.offsets[expert - 1];
  return {expert, begin, operands.offsets[expert] - begin};
}

OperandReader OperandReader::a(const Problem& p, const Operands& o) {
  return {p, o, {o.a, p.a_dtype, p.a_major, p.m, o.a_ld, o.sfa, o.sfa_cols}};
}

OperandReader OperandReader::b(const Problem& p, const Operands& o) {
  return {p, o, {o.b, p.b_dtype, p.b_major, p.n, o.b_ld, o.sfb, o.sfb_cols}};
}

OperandReader::OperandReader(const Problem& p, const Operands& o, const Side& side)
    : data_(static_cast<const std::uint8_t*>(side.data)),
      dtype_(side.dtype),
      major_(side.major),
      ragged_(p.input_order == InputOrder::kTensorRagged),
      rows_(side.rows),
      ld_(side.ld != 0              ? side.ld
          : side.major == Major::kK ? o.tokens
                                    : side.rows) {
  if (!p.scales) return;
  scales_ = static_cast<const std::uint8_t*>(side.scales);
  scale_dtype_ = p.scales->dtype;
  vec_size_ = p.scales->vec_size;
  const std::span offsets(o.offsets, static_cast<std::size_t>(p.experts));
  blocks_ = scales::scale_blocks(offsets, {rows_, side.scale_cols, vec_size_, p.scales->layout});
}

std::int64_t OperandReader::index(const ExpertRange& range, std::int64_t row,
                                  std::int64_t k) const {
  if (major_ == Major::kMn) return (range.begin + k) * ld_ + row;
  if (ragged_) return rows_ * range.begin + row * range.count + k;
  return row * ld_ + range.begin + k;
}

std::uint32_t OperandReader::code(std::int64_t index) const {
  if (dtype_ == DType::kE2m1) {
    const std::uint32_t pair = data_[index / 2];
    return index % 2 == 0 ? pair & 0xFU : pair >> 4U;
  }
  if (bits(dtype_) == 8) return data_[index];
  std::uint16_t code = 0;
  std::memcpy(&code, data_ + index * 2, sizeof code);
  return code;
}

double OperandReader::scale_at(const ExpertRange& range, std::int64_t row, std::int64_t col) const {
  const std::int64_t at = blocks_[range.expert].offset(row, col);
  if (scale_dtype_ != DType::kF32) return scales::decode(scale_dtype_, scales_[at]);
  float scale = 0;
  std::memcpy(&scale, scales_ + at * 4, sizeof scale);
  return scale;
}

double OperandReader::scale(const ExpertRange& range, std::int64_t row, std::int64_t k) const {
  return vec_size_ == kAllTokens ? 1.0 : scale_at(range, row, k / vec_size_);
}

double OperandReader::whole_row_scale(const ExpertRange& range, std::int64_t row) const {
  if (scales_ == nullptr || vec_size_ != kAllTokens) return 1.0;
  return scale_at(range, row, 0);
}

void OperandReader::decode_row(const ExpertRange& range, std::int64_t row,
                               std::span<double> out) const {
  for (std::size_t k = 0; k < out.size(); ++k) {
    const auto at = static_cast<std::int64_t>(k);
    out[k] = scales::decode(dtype_, code(index(range, row, at))) * scale(range, row, at);
  }
}

}  // namespace wgrad::reference
