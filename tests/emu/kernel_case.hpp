// Random problems for one configuration of the SM90 kernel, and their command lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/case.hpp"
#include "support/harness.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::test {

enum class Values : std::uint8_t {
  kIntegers,  ///< every sum exact: judged bit by bit against the oracle
  kNormal,
  kWide,  ///< normal, times powers of two
  kTiny,  ///< products around the least normal number (bf16)
};

/// Device data that the kernel must report and clamp, in the last expert unless stated: the result
/// is that of the counts of the case.
enum class Broken : std::uint8_t {
  kNothing,
  kOffsetDecreases,   ///< an empty expert that ends before it begins
  kOffsetNegative,    ///< an empty expert
  kOffsetBeyond,      ///< without slack: the end is past the tokens
  kOffsetsNegative,   ///< all experts are empty
  kPointerNull,       ///< discrete, the first expert: nothing is stored
  kPointerAlignment,  ///< likewise
};

/// A problem in numbers that a command line holds.
struct KernelCase {
  std::size_t kernel = 0;  ///< index of the configuration
  std::int64_t m = 64;
  std::int64_t n = 64;
  std::vector<std::int64_t> counts;
  std::int64_t slack = 0;
  std::int64_t a_pad = 0;
  std::int64_t b_pad = 0;
  std::int64_t pitch_pad = 0;  ///< output columns beyond the least, in units of 16 bytes
  int sms = 4;                 ///< CTAs at once: few make each walk over many tiles
  int raster_m = 0;            ///< rows of a raster group; 0: as the SMs suggest
  bool infinite = false;       ///< each expert's last token multiplies to infinity in row 0
  Values values = Values::kIntegers;
  Broken broken = Broken::kNothing;
  std::uint64_t data_seed = 1;
  std::uint64_t seed = 1;  ///< of the adversary
};

/// Extents of an operand of this layout are multiples of it.
std::int64_t unit_of(shared::OperandLayout layout);

/// The same case for the same number.
KernelCase random_kernel_case(const shared::Config& config, std::size_t kernel,
                              std::uint64_t number);
/// For the fuzzer: now and then of widths off 16 bytes, of rows that raster groups do not divide,
/// of more experts than are sorted, of more tiles than a trace has room for, or broken; one to
/// three clusters at once where CTAs share tokens.
KernelCase fuzz_case(const shared::Config& config, std::size_t kernel, std::uint64_t number);
Case full_case(const shared::Config& config, const KernelCase& c);

/// Arguments that replay a case.
std::string arguments(const KernelCase& c);
KernelCase parse(const std::vector<std::string>& arguments);

}  // namespace wgrad::test
