// The programs cuda_bits, emu_bits and emu_sm100_bits [--record FILE] [--compare FILE] [--raw
// FOLDER]: the list of bit_cases.hpp on a device. Writes a line for each case, or judges a record
// of another time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "emu/bits/bit_cases.hpp"

namespace wgrad::test {

/// The output image of a case; throws where it cannot be had.
using BitRunner = std::function<Bytes(const KernelCase&, const CaseData&)>;

/// Exit status; 0: every case ran, and equals the record if one was given.
/// `arguments`: without the program's name.
int bit_program(const std::vector<std::string>& arguments, const BitKernels& kernels,
                const BitRunner& runner);

}  // namespace wgrad::test
