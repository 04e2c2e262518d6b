#include "support/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "backends/backend.hpp"
#include "harness/elements.hpp"
#include "harness/error_bound.hpp"
#include "harness/random.hpp"
#include "scales/codec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"
#include "wgrad/reference.hpp"

namespace wgrad::test {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;

/// Calls visit(e, i, j) for every cell until it returns false.
template <typename Visit>
void for_each_cell(const Case& c, Visit visit) {
  for (std::size_t e = 0; e < c.counts.size(); ++e) {
    for (std::int64_t i = 0; i < c.problem.m; ++i) {
      for (std::int64_t j = 0; j < c.problem.n; ++j) {
        if (!visit(e, i, j)) return;
      }
    }
  }
}

std::string first_difference(const CaseData& data, const Bytes& got, const Bytes& want) {
  const DType dtype = data.source.problem.wgrad_dtype;
  std::string text;
  for_each_cell(data.source, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    const std::int64_t at = data.output.cell_offset(e, i, j);
    if (read_code(got, at, dtype) == read_code(want, at, dtype)) return true;
    text = fmt::format("Wgrad[{}][{}][{}] is {} ({:#x}), the oracle has {} ({:#x})", e, i, j,
                       read_value(got, at, dtype), read_code(got, at, dtype),
                       read_value(want, at, dtype), read_code(want, at, dtype));
    return false;
  });
  if (!text.empty()) return text;
  const auto [at, other] = std::mismatch(got.begin(), got.end(), want.begin());
  return fmt::format("a canary at byte {} became {:#x}", at - got.begin(), *at);
}

/// Largest Euclidean norm of a row over expert e's tokens.
double largest_norm(const LogicalOperand& o, std::size_t e) {
  double largest = 0;
  for (std::int64_t row = 0; row < o.rows; ++row) {
    double sum = 0;
    for (std::int64_t k = 0; k < o.begins[e + 1] - o.begins[e]; ++k) {
      sum += o.value(row, e, k) * o.value(row, e, k);
    }
    largest = std::max(largest, std::sqrt(sum));
  }
  return o.global_scales.empty() ? largest : largest * o.global_scales[e];
}

struct ExpertError {
  double error = 0;
  double peak = 0;
  std::int64_t i = 0;  ///< where the largest error is
  std::int64_t j = 0;
};

ExpertError expert_error(const CaseData& data, const Bytes& got, const Bytes& want, std::size_t e) {
  const Problem& p = data.source.problem;
  ExpertError worst;
  for (std::int64_t i = 0; i < p.m; ++i) {
    for (std::int64_t j = 0; j < p.n; ++j) {
      const std::int64_t at = data.output.cell_offset(e, i, j);
      const double exact = read_value(want, at, p.wgrad_dtype);
      const double error = std::abs(read_value(got, at, p.wgrad_dtype) - exact);
      worst.peak = std::max(worst.peak, std::abs(exact));
      if (!(error <= worst.error)) {  // NaN too
        worst.error = error;
        worst.i = i;
        worst.j = j;
      }
    }
  }
  return worst;
}

/// `image` with every cell cleared: what is left must never change.
Bytes without_cells(const CaseData& data, Bytes image) {
  for_each_cell(data.source, [&](std::size_t e, std::int64_t i, std::int64_t j) {
    const std::int64_t at = data.output.cell_offset(e, i, j);
    std::fill_n(image.begin() + at, bits(data.source.problem.wgrad_dtype) / 8, std::uint8_t{0});
    return true;
  });
  return image;
}

}  // namespace

Bytes run_twice(const Target& target, const CaseData& data) {
  const auto run = prepared(target, problem(data.source));
  Instance instance(data, target.memory);
  run(instance.operands());
  Bytes first = instance.output();
  instance.reset_output();
  run(instance.operands());
  const AssertionResult repeatable = same_image(data, instance.output(), first);
  EXPECT_TRUE(repeatable) << "the second run differs from the first: " << describe(data.source);
  return first;
}

AssertionResult same_image(const CaseData& data, const Bytes& got, const Bytes& want) {
  if (got == want) return AssertionSuccess();
  return AssertionFailure() << first_difference(data, got, want) << "\n  " << describe(data.source);
}

AssertionResult close_image(const CaseData& data, const Bytes& got, const Bytes& want,
                            std::string_view backend) {
  const Case& c = data.source;
  if (without_cells(data, got) != without_cells(data, want)) {
    return AssertionFailure() << "a byte outside Wgrad changed\n  " << describe(c);
  }
  const double rounding =
      2 * unit_roundoff(c.problem.wgrad_dtype) + (c.problem.accumulate ? 0x1p-24 : 0);
  for (std::size_t e = 0; e < c.counts.size(); ++e) {
    const ExpertError worst = expert_error(data, got, want, e);
    const double bound = rounding * worst.peak + sum_bound_of(c.problem, backend, c.counts[e]) *
                                                     largest_norm(data.logical.a, e) *
                                                     largest_norm(data.logical.b, e);
    if (worst.error <= bound) continue;
    return AssertionFailure() << fmt::format(
               "Wgrad[{}][{}][{}] is off by {:.3g} of the expert's peak {:.3g}; the bound is "
               "{:.3g}\n  {}",
               e, worst.i, worst.j, worst.error / worst.peak, worst.peak, bound / worst.peak,
               describe(c));
  }
  return AssertionSuccess();
}

namespace {

constexpr double kOracleProducts = 4e9;
constexpr int kSamplesPerExpert = 16;

AssertionResult sample_agrees(const CaseData& data, const Bytes& got, const Operands& operands,
                              std::size_t e, std::int64_t i, std::int64_t j,
                              std::string_view backend) {
  const Problem p = problem(data.source);
  const std::int64_t at = data.output.cell_offset(e, i, j);
  const auto m = reference::magnitude(p, operands, static_cast<std::int64_t>(e), i, j);
  const double start = p.accumulate ? read_value(data.output.bytes(), at, p.wgrad_dtype) : 0.0;
  const double want = scales::decode(p.wgrad_dtype, nearest_code(p.wgrad_dtype, start + m.value));
  const double value = read_value(got, at, p.wgrad_dtype);
  const double bound = data.source.data != DataKind::kNormal
                           ? 0.0
                           : (2 * unit_roundoff(p.wgrad_dtype) + 0x1p-24) * std::abs(want) +
                                 sum_bound_of(p, backend, data.source.counts[e]) * m.absolute_sum;
  if (std::abs(value - want) <= bound) return AssertionSuccess();
  return AssertionFailure() << fmt::format("Wgrad[{}][{}][{}] is {}, the oracle has {} +- {}\n  {}",
                                           e, i, j, value, want, bound, describe(data.source));
}

}  // namespace

AssertionResult samples_agree(const CaseData& data, const Bytes& got, std::string_view backend) {
  if (without_cells(data, got) != without_cells(data, data.output.bytes())) {
    return AssertionFailure() << "a byte outside Wgrad changed\n  " << describe(data.source);
  }
  const Instance instance(data, host_device());
  const Problem& p = data.source.problem;
  Random random(data.source.seed + 2);
  for (std::size_t e = 0; e < data.source.counts.size(); ++e) {
    for (int sample = 0; sample < kSamplesPerExpert; ++sample) {
      // The last cell too, where an index would overflow first.
      const std::int64_t i = sample == 0 ? p.m - 1 : random.integer(0, p.m - 1);
      const std::int64_t j = sample == 0 ? p.n - 1 : random.integer(0, p.n - 1);
      const AssertionResult agrees =
          sample_agrees(data, got, instance.operands(), e, i, j, backend);
      if (!agrees) return agrees;
    }
  }
  return AssertionSuccess();
}

namespace {

/// A backend without a kernel for this problem must say so, in words, before any work.
AssertionResult refuses(const Target& target, const Case& c) {
  try {
    prepare(problem(c), target.device, {.backend = target.backend});
  } catch (const RuntimeError& refusal) {
    if (std::string_view(refusal.what()).find("it must be") != std::string_view::npos) {
      return AssertionSuccess();
    }
    return AssertionFailure() << "an unclear refusal: " << refusal.what();
  }
  return AssertionFailure() << "limits were stated, but prepare() went on\n  " << describe(c);
}

}  // namespace

bool has_kernel(const Target& target, const Problem& problem) {
  return std::ranges::any_of(backends::all(), [&](const backends::Backend* backend) {
    return backend->name() == target.backend && backend->limits(problem, target.device).empty();
  });
}

AssertionResult conforms(const Target& target, const Case& c) {
  if (!has_kernel(target, problem(c))) return refuses(target, c);
  const CaseData data(c);
  const Bytes got = run_twice(target, data);
  const double products =
      static_cast<double>(c.problem.m * c.problem.n) * static_cast<double>(covered_tokens(c));
  if (products > kOracleProducts) return samples_agree(data, got, target.backend);
  const Bytes want = oracle_output(data);
  return c.data == DataKind::kNormal ? close_image(data, got, want, target.backend)
                                     : same_image(data, got, want);
}

}  // namespace wgrad::test
