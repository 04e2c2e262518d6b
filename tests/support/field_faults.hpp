// What the suites of field faults share. Each test is named after a row of
// docs/design/field-faults.md and runs on every backend.
#pragma once

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "support/check.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::test {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

inline const NamedFormat& format_named(std::string_view wanted) {
  for (const NamedFormat& format : formats()) {
    if (format.name == wanted) return format;
  }
  throw std::invalid_argument("no such format");
}

/// A run's output that can be read cell by cell.
class Result {
 public:
  Result(const Target& target, const Case& c) : data_(c), image_(run_twice(target, data_)) {}

  std::uint32_t code(std::size_t e, std::int64_t i, std::int64_t j) const {
    return read_code(image_, data_.output.cell_offset(e, i, j), dtype());
  }
  double value(std::size_t e, std::int64_t i, std::int64_t j) const {
    return read_value(image_, data_.output.cell_offset(e, i, j), dtype());
  }
  /// Every cell of expert e holds exactly `code`.
  testing::AssertionResult all_cells(std::size_t e, std::uint32_t code) const;
  /// Every cell of every expert is finite.
  testing::AssertionResult finite() const;
  /// The same bits as `other` in every cell; the two may differ in their inputs.
  testing::AssertionResult same_cells(const Result& other) const;
  testing::AssertionResult matches_oracle() const {
    return same_image(data_, image_, oracle_output(data_));
  }

  const CaseData& data() const { return data_; }

 private:
  DType dtype() const { return data_.source.problem.wgrad_dtype; }

  CaseData data_;
  Bytes image_;
};

class FieldFaults : public testing::TestWithParam<Target> {
 protected:
  static Case case_of(std::string_view format, std::int64_t m, std::int64_t n,
                      const std::vector<std::int64_t>& counts);
  static std::vector<Case> variants(std::string_view format, std::int64_t m, std::int64_t n,
                                    const std::vector<std::int64_t>& counts) {
    return input_variants(format_named(format), m, n, counts);
  }
  /// Whether the backend has a kernel for this format.
  bool runs(std::string_view format) const {
    return has_kernel(GetParam(), problem(case_of(format, 64, 64, {64})));
  }
  /// Whether the backend has a kernel for `c`; judges that it refuses in words where not.
  bool computes(const Case& c) const;
  testing::AssertionResult conforms(const Case& c) const { return test::conforms(GetParam(), c); }
  /// Where the backend states that it has no kernel for `c`, judges that it refuses in words and
  /// gives what the oracle computes.
  Result run(const Case& c) const;
  /// The message of the ValueError that preparing and running `c` throws; "" when none.
  /// `change` may edit the operands first.
  std::string refusal(const Case& c, const std::function<void(Operands&)>& change = {}) const;
};

/// Rows about block-scaled formats: on the backends that have kernels for them.
class ScaledFieldFaults : public FieldFaults {};
std::vector<Target> block_scaled_targets();

#define WGRAD_SCALED_FIELD_FAULTS()                                                                \
  INSTANTIATE_TEST_SUITE_P(Backends, ScaledFieldFaults, testing::ValuesIn(block_scaled_targets()), \
                           [](const auto& param) { return target_name(param.param); })

/// Instantiates a file's FieldFaults over every backend.
#define WGRAD_FIELD_FAULTS_ON_EVERY_BACKEND()                                   \
  INSTANTIATE_TEST_SUITE_P(Backends, FieldFaults, testing::ValuesIn(targets()), \
                           [](const auto& param) { return target_name(param.param); })

}  // namespace wgrad::test
