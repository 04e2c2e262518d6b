// Random block-scaled problems for the kernels of the emulated machine. Without public headers:
// device code beside it has its own OutputMode and InputType.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/sm90_scaled/emulated/kernels.hpp"

namespace wgrad::test {

/// The fuzzer's kernels, and the index of the only one that was compiled; -1: all were.
const std::vector<kernels::sm90_scaled::CompiledKernel>& scaled_kernels();
int only_scaled_kernel();

/// Runs problem `number` for kernel `index` and judges it by the oracle. Empty where it is right.
/// Odd numbers have any scale factors, and NaN and infinity; the others only what sums exactly.
std::string scaled_verdict(std::size_t index, std::uint64_t number);

}  // namespace wgrad::test
