// One problem with its counts, data and memory layout: everything a run needs, as a value.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wgrad/problem.hpp"

namespace wgrad::harness {

struct LogicalData;

enum class DataKind : std::uint8_t {
  kIntegers,  ///< small multiples of a power of two: every sum is exact in float32
  kNormal,    ///< normally distributed
  kOnes,      ///< elements, scale factors and global scales are 1; accumulators start at 0
};

/// What lies in the tokens past the last offset and in padded strides.
enum class Poison : std::uint8_t { kNan, kInfinity, kZero };

struct Case {
  Problem problem;  ///< experts and tokens follow from `counts` and `slack`
  std::vector<std::int64_t> counts;
  std::int64_t slack = 0;  ///< tokens past the last offset
  std::int64_t a_pad = 0;  ///< leading dimension beyond the least, in units of 16 bytes
  std::int64_t b_pad = 0;
  std::int64_t scale_col_pad = 0;     ///< scale columns beyond the least, in units of 4
  std::uint8_t scale_padding = 0xFF;  ///< byte of every scale that means nothing
  DataKind data = DataKind::kIntegers;
  Poison poison = Poison::kNan;
  /// Code of every output cell before the run; else NaN, or small values when accumulating.
  std::optional<std::uint32_t> start_code;
  std::uint64_t seed = 1;
  std::function<void(LogicalData&)> adjust;  ///< last word on the values, before they are laid out
};

/// T, E and the offsets of a case.
std::int64_t covered_tokens(const Case& c);
std::int64_t tokens(const Case& c);
std::vector<std::int32_t> offsets(const Case& c);
/// The problem with its experts and tokens filled in.
Problem problem(const Case& c);

/// The formats the suites sweep.
struct NamedFormat {
  const char* name = "";
  DType a = DType::kBf16;
  DType b = DType::kBf16;
  Format format = Format::kSixteenBit;
  int vec_size = 32;  ///< of scale factors that are not NVFP4's
  DType scale_dtype = DType::kE8m0;
};
/// Whether its operands are K-major only.
bool is_k_major(const NamedFormat& format);
/// Whether its scale factors have two layouts.
bool has_swizzled_scales(const NamedFormat& format);
const std::vector<NamedFormat>& formats();

/// A problem of that format: K-major where it has no other major, else MN-major; m and n as given.
Problem problem_of(const NamedFormat& format, std::int64_t m, std::int64_t n);

/// Both input orders times all majors that the format has, on counts fitted to each.
std::vector<Case> input_variants(const NamedFormat& format, std::int64_t m, std::int64_t n,
                                 const std::vector<std::int64_t>& counts);

/// Rounds counts so that every FP4 expert begins (in ragged order: also ends) at an even token.
std::vector<std::int64_t> fit_counts(const Problem& problem, std::vector<std::int64_t> counts);

/// One line that tells cases apart.
std::string describe(const Case& c);

}  // namespace wgrad::harness
