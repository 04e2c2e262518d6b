// Random problems for one configuration of the SM90 kernel, and their command lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/cases/case.hpp"
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
  kPointerNull,       ///< discrete, the first expert or the last: nothing is stored
  kPointerAlignment,  ///< likewise
};

/// Tokens that a neighbour must not read, not even to multiply them by zero. All but the recorded
/// one stand in every second expert, in its first token and its last.
enum class Foreign : std::uint8_t {
  kNothing,
  kRecorded,   ///< infinity in the last token of row 0 of A (cases of h200_bits.txt)
  kInfinityA,  ///< in row 0
  kInfinityB,
  kNanA,
  kNanB,
  kInfinityBoth,  ///< in row 0 of A and row 1 of B
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
  int parts = 1;               ///< of an expert at most, where they meet in the workspace
  int sets = 0;                ///< experts whose sums the workspace holds; 0: as the SMs suggest
  int raster_m = 0;            ///< rows of a raster group; 0: as the SMs suggest
  Foreign foreign = Foreign::kNothing;
  Values values = Values::kIntegers;
  Broken broken = Broken::kNothing;
  std::uint64_t data_seed = 1;
  std::uint64_t seed = 1;  ///< of the adversary
};

/// The expert whose pointer a broken case breaks: the last where there are more than a CTA has
/// threads, else the first.
std::size_t broken_pointer(const KernelCase& c);

/// Extents of an operand of this layout are multiples of it.
std::int64_t unit_of(shared::OperandLayout layout);

/// The same case for the same number.
KernelCase random_kernel_case(const shared::Config& config, std::size_t kernel,
                              std::uint64_t number);
/// For the fuzzer: now and then of widths off 16 bytes, of rows that raster groups do not divide,
/// of more experts than are sorted, of more tiles than a trace has room for, of 65,536 tokens, or
/// broken; one to three clusters at once where CTAs share tokens.
KernelCase fuzz_case(const shared::Config& config, std::size_t kernel, std::uint64_t number);
Case full_case(const shared::Config& config, const KernelCase& c);

/// Arguments that replay a case.
std::string arguments(const KernelCase& c);
KernelCase parse(const std::vector<std::string>& arguments);

}  // namespace wgrad::test
