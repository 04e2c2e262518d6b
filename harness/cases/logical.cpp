#include "harness/cases/logical.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "harness/random.hpp"
#include "wgrad/codec.hpp"

namespace wgrad::harness {
namespace {

constexpr double kLargestE5m2 = 57344;
constexpr double kInf = std::numeric_limits<double>::infinity();

double draw_value(DataKind kind, DType dtype, Random& random) {
  switch (kind) {
    case DataKind::kOnes:
      return 1.0;
    case DataKind::kNormal:
      return random.normal();
    case DataKind::kIntegers:
      break;
  }
  // All of e2m1's values, else -4 .. 4.
  return dtype == DType::kE2m1
             ? decode(DType::kE2m1, static_cast<std::uint32_t>(random.integer(0, 15)))
             : static_cast<double>(random.integer(-4, 4));
}

/// Varies block by block, within what keeps integer sums exact.
double draw_scale(DataKind kind, DType dtype, Random& random) {
  if (kind == DataKind::kOnes) return 1.0;
  if (dtype == DType::kE8m0 || (dtype == DType::kF32 && kind == DataKind::kIntegers)) {
    const int range = kind == DataKind::kIntegers ? 1 : 3;
    return std::ldexp(1.0, static_cast<int>(random.integer(-range, range)));
  }
  constexpr double kExact[] = {0.5, 1.0, 1.5, 2.0, 3.0};
  return kind == DataKind::kIntegers ? random.pick(kExact) : 0.25 + 2.0 * random.uniform();
}

float draw_global_scale(DataKind kind, Random& random) {
  if (kind == DataKind::kOnes) return 1.0F;
  if (kind == DataKind::kIntegers) {
    return std::ldexp(1.0F, static_cast<int>(random.integer(-3, 3)));
  }
  return static_cast<float>(0.25 + 2.0 * random.uniform());
}

LogicalOperand shell(const Case& c, DType dtype, std::int64_t rows) {
  LogicalOperand o;
  o.dtype = dtype;
  o.rows = rows;
  if (c.problem.scales) {
    o.scale_dtype = c.problem.scales->dtype;
    o.vec_size = c.problem.scales->vec_size;
  }
  o.begins = {0};
  o.first_cols = {0};
  for (const std::int64_t count : c.counts) {
    o.begins.push_back(o.begins.back() + count);
    o.first_cols.push_back(o.first_cols.back() +
                           (o.vec_size == 0 ? 0 : (count + o.vec_size - 1) / o.vec_size));
  }
  return o;
}

LogicalOperand draw_operand(const Case& c, DType dtype, std::int64_t rows, Random& random) {
  LogicalOperand o = shell(c, dtype, rows);
  o.codes.resize(static_cast<std::size_t>(rows * o.tokens()));
  for (auto& code : o.codes) {
    code = static_cast<std::uint16_t>(nearest_code(dtype, draw_value(c.data, dtype, random)));
  }
  o.scale_codes.resize(static_cast<std::size_t>(rows * o.cols()));
  for (auto& code : o.scale_codes) {
    code = nearest_code(o.scale_dtype, draw_scale(c.data, o.scale_dtype, random));
  }
  if (scales_whole_rows(c.problem)) {
    o.row_scales.resize(c.counts.size() * static_cast<std::size_t>(rows));
    for (float& scale : o.row_scales) scale = draw_global_scale(c.data, random);
  }
  if (c.problem.scales && c.problem.scales->global_scale) {
    for (std::size_t e = 0; e < c.counts.size(); ++e) {
      o.global_scales.push_back(draw_global_scale(c.data, random));
    }
  }
  return o;
}

}  // namespace

std::uint32_t nearest_code(DType dtype, double value) {
  if (dtype == DType::kF32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (dtype == DType::kE5m2) value = std::clamp(value, -kLargestE5m2, kLargestE5m2);
  return encode(dtype, value);
}

std::uint32_t poison_code(DType dtype, Poison poison) {
  if (poison == Poison::kZero) return 0;
  const bool infinite = poison == Poison::kInfinity;
  if (dtype == DType::kE5m2) return infinite ? 0x7C : 0x7E;
  if (dtype == DType::kE4m3) return 0x7F;
  if (dtype == DType::kE2m1) return 0x7;
  return nearest_code(dtype, infinite ? kInf : std::numeric_limits<double>::quiet_NaN());
}

double LogicalOperand::value(std::int64_t row, std::size_t e, std::int64_t k) const {
  const double element = decode(dtype, code(row, begins[e] + k));
  if (vec_size == 0) return element * row_scale(row, e);
  return element * decode(scale_dtype, scale_code(row, first_cols[e] + k / vec_size));
}

void LogicalOperand::set(std::int64_t row, std::int64_t t, double v) {
  code(row, t) = static_cast<std::uint16_t>(nearest_code(dtype, v));
}

LogicalData draw(const Case& c) {
  Random random(c.seed);
  LogicalData data;
  data.a = draw_operand(c, c.problem.a_dtype, c.problem.m, random);
  data.b = draw_operand(c, c.problem.b_dtype, c.problem.n, random);
  if (c.adjust) c.adjust(data);
  return data;
}

}  // namespace wgrad::harness
