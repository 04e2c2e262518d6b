// What backends need of a machine besides its processors: libraries, driver, compiler, cache.
#pragma once

#include <string>

namespace wgrad {

/// What was found, and what was not. Versions are "major.minor" or longer.
struct Toolchain {
  std::string driver;           ///< CUDA version of the NVIDIA driver, "12.4"; empty: none
  std::string driver_missing;   ///< why, in a sentence
  std::string nvrtc;            ///< version of the run-time compiler; empty: none
  std::string nvrtc_file;       ///< where it was found
  std::string nvrtc_missing;    ///< why not, in a sentence
  std::string cache_directory;  ///< of compiled kernels; empty: they stay in memory
  std::string cache_not_used;   ///< why that folder is not used, in a sentence: others than its
                                ///< owner may write it, or another user owns it; empty: it is
  std::string onednn;           ///< version that runs, "3.2.0"; empty: built without it
  std::string onednn_compiled;  ///< version it was compiled with
  std::string onednn_isa;       ///< the best instruction set it uses on this CPU
};

/// Looks for them. Throws nothing for what is missing; ValueError for a WGRAD_ number that is none.
Toolchain find_toolchain();

/// Adds a folder to look for libnvrtc in, such as the lib folder of a Python wheel. It comes after
/// WGRAD_NVRTC, the loader's path and installed toolkits. Thread-safe; has no effect once a
/// compiler was found.
void add_nvrtc_folder(const std::string& folder);

}  // namespace wgrad
