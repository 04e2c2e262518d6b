#include "cpu/expert_operand.hpp"

#include "validate/operand_rules.hpp"

namespace wgrad::cpu {
namespace {

/// The parts in which A and B differ.
struct Side {
  const void* data;
  std::int64_t rows;
  std::int64_t ld;
  Major major;
  DType dtype;
  const void* scales;
  std::int64_t scale_cols;
};

ExpertOperand expert_operand(const Problem& p, const Side& side, const ExpertPlace& place) {
  ExpertOperand out;
  out.major = side.major;
  out.dtype = side.dtype;
  const bool ragged = p.input_order == InputOrder::kTensorRagged && side.major == Major::kK;
  out.ld = ragged ? place.tokens : side.ld;
  const std::int64_t first = ragged                    ? side.rows * place.begin
                             : side.major == Major::kK ? place.begin
                                                       : place.begin * side.ld;
  out.base = static_cast<const std::uint8_t*>(side.data) + first * bits(side.dtype) / 8;
  if (p.scales) {
    const scales::ScaleStorage storage{side.rows, side.scale_cols, p.scales->vec_size,
                                       p.scales->layout};
    out.scales = {static_cast<const std::uint8_t*>(side.scales),
                  scales::scale_block(storage, place.scale_begin, place.tokens)};
  }
  return out;
}

}  // namespace

ExpertOperand expert_a(const Problem& p, const Operands& o, const ExpertPlace& place) {
  return expert_operand(
      p, {o.a, p.m, validate::view_a(p, o).ld, p.a_major, p.a_dtype, o.sfa, o.sfa_cols}, place);
}

ExpertOperand expert_b(const Problem& p, const Operands& o, const ExpertPlace& place) {
  return expert_operand(
      p, {o.b, p.n, validate::view_b(p, o).ld, p.b_major, p.b_dtype, o.sfb, o.sfb_cols}, place);
}

}  // namespace wgrad::cpu
