// Where libnvrtc may be.
#pragma once

#include <string>
#include <vector>

#include "core/environment.hpp"

namespace wgrad::jit {

/// Adds a folder to look for libnvrtc in, such as a Python wheel's. Thread-safe, idempotent.
void add_nvrtc_folder(const std::string& folder);
std::vector<std::string> added_nvrtc_folders();

/// Files and loader names to try in turn: WGRAD_NVRTC alone where it is set; else the loader's own
/// path, CUDA_HOME, `toolkit_root`/cuda* (newest first) and `folders`.
std::vector<std::string> nvrtc_candidates(const core::Environment& environment,
                                          const std::vector<std::string>& folders,
                                          const std::string& toolkit_root = "/usr/local");

}  // namespace wgrad::jit
