#include "wgrad/reference.hpp"

#include <cmath>
#include <vector>

#include "core/float_environment.hpp"
#include "reference/operand_reader.hpp"
#include "reference/output_cells.hpp"

namespace wgrad::reference {
namespace {

/// The factors of all tokens of a row of A and of one of B. An expert without tokens has none.
double row_factor(const OperandReader& a, const OperandReader& b, const ExpertRange& range,
                  std::int64_t i, std::int64_t j) {
  if (range.count == 0) return 1.0;
  return a.whole_row_scale(range, i) * b.whole_row_scale(range, j);
}

/// gsa[e] * gsb[e] * sum, and 0 wherever the sum is 0: an all-zero expert stays zero whatever its
/// global scales are, infinite ones included.
double apply_global_scales(const Problem& p, const Operands& o, std::size_t e, double sum) {
  if (!p.scales || !p.scales->global_scale || sum == 0.0) return sum;
  return double{o.global_scale_a[e]} * double{o.global_scale_b[e]} * sum;
}

std::vector<double> decoded_row(const OperandReader& reader, const ExpertRange& range,
                                std::int64_t row) {
  std::vector<double> values(static_cast<std::size_t>(range.count));
  reader.decode_row(range, row, values);
  return values;
}

/// B of one expert as (k, N) doubles, so that the innermost loop below runs over columns.
std::vector<double> decoded_b(const OperandReader& b, const ExpertRange& range, std::int64_t n) {
  std::vector<double> values(static_cast<std::size_t>(range.count * n));
  for (std::int64_t j = 0; j < n; ++j) {
    const std::vector<double> column = decoded_row(b, range, j);
    for (std::int64_t k = 0; k < range.count; ++k) values[k * n + j] = column[k];
  }
  return values;
}

/// sums[j] = sum over k of a[k] * b[k][j], in the order of k.
void multiply_row(const std::vector<double>& a, const std::vector<double>& b,
                  std::vector<double>& sums) {
  sums.assign(sums.size(), 0.0);
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double* row = b.data() + k * sums.size();
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j] += a[k] * row[j];
  }
}

void write_row(const Problem& p, const Operands& o, std::size_t e, std::int64_t i,
               const std::vector<double>& sums) {
  const OutputCells cells(p, o, e);
  for (std::int64_t j = 0; j < p.n; ++j) {
    const double result = apply_global_scales(p, o, e, sums[j]);
    cells.store(i, j, p.accumulate ? cells.load(i, j) + result : result);
  }
}

void run_expert(const Problem& p, const Operands& o, const OperandReader& a, const OperandReader& b,
                const ExpertRange& range) {
  if (range.count == 0 && p.accumulate) return;  // left bit-identical
  const std::vector<double> b_values = decoded_b(b, range, p.n);
  std::vector<double> sums(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.m; ++i) {
    multiply_row(decoded_row(a, range, i), b_values, sums);
    for (std::int64_t j = 0; j < p.n; ++j) sums[j] *= row_factor(a, b, range, i, j);
    write_row(p, o, range.expert, i, sums);
  }
}

}  // namespace

Magnitude magnitude(const Problem& problem, const Operands& operands, std::int64_t e,
                    std::int64_t i, std::int64_t j) {
  const core::DefaultFloatEnvironment float_environment;
  const ExpertRange range = expert_range(operands, static_cast<std::size_t>(e));
  const OperandReader reader_a = OperandReader::a(problem, operands);
  const OperandReader reader_b = OperandReader::b(problem, operands);
  const auto a = decoded_row(reader_a, range, i);
  const auto b = decoded_row(reader_b, range, j);
  Magnitude m;
  for (std::size_t k = 0; k < a.size(); ++k) {
    m.value += a[k] * b[k];
    m.absolute_sum += std::abs(a[k] * b[k]);
  }
  const double factor = row_factor(reader_a, reader_b, range, i, j);
  m.value *= factor;
  m.absolute_sum *= std::abs(factor);
  m.value = apply_global_scales(problem, operands, range.expert, m.value);
  m.absolute_sum = std::abs(apply_global_scales(problem, operands, range.expert, m.absolute_sum));
  return m;
}

double element(const Problem& problem, const Operands& operands, std::int64_t e, std::int64_t i,
               std::int64_t j) {
  return magnitude(problem, operands, e, i, j).value;
}

void run(const Problem& problem, const Operands& operands) {
  const core::DefaultFloatEnvironment float_environment;
  const OperandReader a = OperandReader::a(problem, operands);
  const OperandReader b = OperandReader::b(problem, operands);
  for (std::int64_t e = 0; e < problem.experts; ++e) {
    run_expert(problem, operands, a, b, expert_range(operands, static_cast<std::size_t>(e)));
  }
}

}  // namespace wgrad::reference
