// Random problems for one compiled kernel, judged by the oracle; shrinking; command lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emu/fault.hpp"
#include "emu/kernel_list.hpp"
#include "support/case.hpp"

namespace wgrad::test {

/// A problem in numbers that a command line holds.
struct KernelCase {
  std::size_t kernel = 0;  ///< index into kernels()
  std::int64_t m = 64;
  std::int64_t n = 64;
  std::vector<std::int64_t> counts;
  std::int64_t slack = 0;
  std::int64_t a_pad = 0;
  std::int64_t b_pad = 0;
  std::int64_t pitch_pad = 0;  ///< output columns beyond the least, in units of 16 bytes
  int sms = 4;                 ///< CTAs at once: few make each walk over many tiles
  bool infinite = false;       ///< each expert's last token multiplies to infinity in row 0
  std::uint64_t data_seed = 1;
  std::uint64_t seed = 1;  ///< of the adversary
};

/// The same case for the same number.
KernelCase random_kernel_case(std::size_t kernel, std::uint64_t number);

struct Verdict {
  std::string text;  ///< empty when the output equals the oracle's, bit for bit, canaries included
  emu::Stats stats;
};
Verdict verdict(const KernelCase& c);

/// Smaller while it still fails.
KernelCase shrink(KernelCase c);

/// Arguments that replay a case.
std::string arguments(const KernelCase& c);
KernelCase parse(const std::vector<std::string>& arguments);

}  // namespace wgrad::test
