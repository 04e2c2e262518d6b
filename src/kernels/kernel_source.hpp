// What the compiler gets: a few generated lines, options, and a digest of both.
#pragma once

#include <string>
#include <vector>

namespace wgrad::kernels {

struct KernelSource {
  std::string name;                  ///< for people: the kernel and its tile
  std::string entry;                 ///< the extern "C" function
  std::string text;                  ///< a translation unit that includes device headers
  std::vector<std::string> options;  ///< of NVRTC, the architecture among them
  int arch = 0;                      ///< compute capability times ten of devices that run it
  int shared_bytes = 0;              ///< dynamic shared memory that a launch takes

  /// SHA-256 of everything that reaches the compiler.
  std::string digest() const;

  bool operator==(const KernelSource&) const = default;
};

}  // namespace wgrad::kernels
