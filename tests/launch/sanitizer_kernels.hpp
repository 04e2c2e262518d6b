// Kernels that are wrong on purpose, for compute-sanitizer.
#pragma once

#include <span>

#include "kernels/kernel_source.hpp"

namespace wgrad::test {

/// A tool of compute-sanitizer, a kernel, and the exit status to expect of
/// `compute-sanitizer --error-exitcode 9`: "9", "0" or, where the tool may be blind
/// (docs/notes/2026-11-30-what-the-sanitizers-follow.md), "any".
struct SanitizerControl {
  const char* tool = "";
  const char* kernel = "";
  const char* status = "9";
};

std::span<const SanitizerControl> sanitizer_controls();

/// Every kernel takes a tensor map and the addresses of an input and an output of kSanitizerBytes
/// each. The map's tensor is the input's 64 rows and 64 more, which lie beyond it. `arch`: compute
/// capability times ten, 90 or more.
kernels::KernelSource sanitizer_kernels(int arch = 90);

inline constexpr int kSanitizerRows = 64;
inline constexpr int kSanitizerTokens = 64;
inline constexpr int kSanitizerBytes = kSanitizerRows * kSanitizerTokens * 2;
inline constexpr unsigned kSanitizerThreads = 64;
inline constexpr unsigned kSanitizerSharedBytes = 16384;

}  // namespace wgrad::test
