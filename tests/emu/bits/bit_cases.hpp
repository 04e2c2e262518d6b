// A fixed list of small problems that together use every instruction form of a family's kernel, on
// data whose sums depend on how they are added. What the emulator computes for them must be what
// hardware does, bit for bit: h200_bits.txt was recorded there, sm100_bits.txt on the emulator.
#pragma once

#include <string>
#include <vector>

#include "emu/fuzz/kernel_case.hpp"
#include "harness/cases/instance.hpp"
#include "support/harness.hpp"

namespace wgrad::test {

/// A family's kernels, by what their cases depend on; a case's `kernel` is an index into them.
struct BitKernels {
  std::vector<shared::Config> configs;
  bool few = false;  ///< three cases of each rather than seven
};
/// Of the configurations in tests/emu/kernels that are recorded.
BitKernels sm90_bit_kernels();
BitKernels sm100_bit_kernels();

std::vector<KernelCase> bit_cases(const BitKernels& kernels);

/// Configuration and arguments: what a recorded digest is the digest of.
std::string bit_case_name(const BitKernels& kernels, const KernelCase& c);

/// The case's data, drawn once.
CaseData bit_case_data(const BitKernels& kernels, const KernelCase& c);

/// `inner`, with allocations that start at multiples of 256 bytes: where a K-major k loop starts
/// depends on addresses, and with it the order of the sums.
std::shared_ptr<Device> aligned(std::shared_ptr<Device> inner);

/// Digest of an output image in 16 hexadecimal digits.
std::string bits_digest(const Bytes& image);

}  // namespace wgrad::test
