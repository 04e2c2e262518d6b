// One case on the emulated machine, judged by the oracle; smaller cases that fail alike.
#pragma once

#include <string>

#include "emu/fault.hpp"
#include "emu/fuzz/kernel_case.hpp"
#include "emu/kernels/kernel_list.hpp"

namespace wgrad::test {

struct Verdict {
  std::string text;  ///< empty when the output equals the oracle's, bit for bit, canaries included
  emu::Stats stats;
};
/// Of a case of Values::kIntegers; its kernel is an index into kernels().
Verdict verdict(const KernelCase& c);

/// Smaller while it still fails.
KernelCase shrink(KernelCase c);

/// What a failing case shrinks to, and the command that runs that again.
std::string smallest_failure(const KernelCase& c);

}  // namespace wgrad::test
