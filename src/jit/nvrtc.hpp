// NVRTC, opened while the program runs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "jit/device_headers.hpp"
#include "jit/nvrtc_api.hpp"
#include "kernels/kernel_source.hpp"

namespace wgrad::jit {

/// Machine code of one kernel and what the compiler said about it.
struct Cubin {
  std::string bytes;  ///< an ELF file
  std::string log;    ///< warnings, and the assembler's report of registers and spills
};

class Nvrtc {
 public:
  Nvrtc(const NvrtcApi& api, std::string file);

  /// The compiler of this process, opened at the first call that finds one. Throws RuntimeError
  /// with every place that was looked at where there is none.
  static const Nvrtc& instance();
  /// Opens the first of `candidates` that is a usable NVRTC; throws like instance().
  static Nvrtc open(const std::vector<std::string>& candidates);

  /// Throws RuntimeError with the compiler's log where `source` does not compile.
  Cubin compile(const kernels::KernelSource& source, std::span<const DeviceHeader> headers) const;

  const std::string& file() const noexcept { return file_; }
  const std::string& version() const noexcept { return version_; }  ///< "13.0"

 private:
  NvrtcApi api_;
  std::string file_;
  std::string version_;
  bool has_cache_ = false;
};

}  // namespace wgrad::jit
