// What a compiled kernel is known by. Everything that changes its code changes both names.
#pragma once

#include <string>

#include "jit/device_headers.hpp"
#include "kernels/kernel_source.hpp"

namespace wgrad::jit {

using Headers = std::span<const DeviceHeader>;

/// Names of one kernel, but for the compiler's version.
struct KernelKey {
  std::string key;  ///< names its entry in a cache: hexadecimal digits
  /// Written into the entry and compared when it is found: a digest made another way, of a list of
  /// all that reached the compiler, so that what `key` may come to forget finds no entry.
  std::string contract;
};

/// Of kernels that are compiled with `headers`.
class KernelKeys {
 public:
  explicit KernelKeys(Headers headers);

  KernelKey of(const kernels::KernelSource& source) const;

 private:
  std::string digest_;  // of the headers' names and texts
  std::string list_;    // a line for each header, with its own digest
};

}  // namespace wgrad::jit
