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

ExpertScales expert_scales(const ScaleSpec& spec, const Side& side, const ExpertPlace& place) {
  ExpertScales out;
  out.layout = spec.layout;
  const auto* base = static_cast<const std::uint8_t*>(side.scales);
  const std::int64_t blocks = ceil_div(place.tokens, spec.vec_size);
  if (spec.layout == ScaleLayout::kSwizzled) {
    out.pitch = round_up(blocks, kScaleAtomCols);
    out.base = base + round_up(side.rows, kScaleAtomRows) * place.scale_begin;
  } else {
    out.pitch = side.scale_cols;
    out.base = base + place.scale_begin;
  }
  return out;
}

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
  if (p.scales) out.scales = expert_scales(*p.scales, side, place);
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
