#include "support/field_faults.hpp"

#include <cmath>

#include "wgrad/errors.hpp"

namespace wgrad::test {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

}  // namespace

AssertionResult Result::all_cells(std::size_t e, std::uint32_t want) const {
  for (std::int64_t i = 0; i < data_.source.problem.m; ++i) {
    for (std::int64_t j = 0; j < data_.source.problem.n; ++j) {
      if (code(e, i, j) == want) continue;
      return AssertionFailure() << "Wgrad[" << e << "][" << i << "][" << j << "] is "
                                << value(e, i, j) << "\n  " << describe(data_.source);
    }
  }
  return AssertionSuccess();
}

AssertionResult Result::finite() const {
  for (std::size_t e = 0; e < data_.source.counts.size(); ++e) {
    for (std::int64_t i = 0; i < data_.source.problem.m; ++i) {
      for (std::int64_t j = 0; j < data_.source.problem.n; ++j) {
        if (std::isfinite(value(e, i, j))) continue;
        return AssertionFailure() << "Wgrad[" << e << "][" << i << "][" << j << "] is "
                                  << value(e, i, j) << "\n  " << describe(data_.source);
      }
    }
  }
  return AssertionSuccess();
}

AssertionResult Result::same_cells(const Result& other) const {
  for (std::size_t e = 0; e < data_.source.counts.size(); ++e) {
    for (std::int64_t i = 0; i < data_.source.problem.m; ++i) {
      for (std::int64_t j = 0; j < data_.source.problem.n; ++j) {
        if (code(e, i, j) == other.code(e, i, j)) continue;
        return AssertionFailure() << "Wgrad[" << e << "][" << i << "][" << j << "] is "
                                  << value(e, i, j) << " here and " << other.value(e, i, j)
                                  << " there\n  " << describe(data_.source) << "\n  "
                                  << describe(other.data_.source);
      }
    }
  }
  return AssertionSuccess();
}

std::vector<Target> block_scaled_targets() {
  const Problem scaled = problem_of(format_named("mxfp8_e4m3"), 64, 64);
  std::vector<Target> found;
  for (const Target& target : targets()) {
    Problem p = scaled;
    p.experts = 1;
    if (has_kernel(target, p)) found.push_back(target);
  }
  return found;
}

Case FieldFaults::case_of(std::string_view format, std::int64_t m, std::int64_t n,
                          const std::vector<std::int64_t>& counts) {
  Case c;
  c.problem = problem_of(format_named(format), m, n);
  c.counts = fit_counts(c.problem, counts);
  return c;
}

bool FieldFaults::computes(const Case& c) const {
  if (has_kernel(GetParam(), problem(c))) return true;
  EXPECT_TRUE(conforms(c));  // that it refuses
  return false;
}

Result FieldFaults::run(const Case& c) const {
  if (computes(c)) return {GetParam(), c};
  return {Target{"reference", host_spec(), host_device()}, c};
}

std::string FieldFaults::refusal(const Case& c,
                                 const std::function<void(Operands&)>& change) const {
  const CaseData data(c);
  Instance instance(data, GetParam().memory);
  if (change) change(instance.operands());
  try {
    prepare(problem(c), GetParam().device, {.backend = GetParam().backend})
        .run(instance.operands());
  } catch (const ValueError& error) {
    if (instance.output() != data.output.bytes()) {
      return std::string("refused after writing: ") + error.what();
    }
    return error.what();
  }
  return "";
}

}  // namespace wgrad::test
