// Every environment variable wgrad reads, read here and nowhere else.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace wgrad::core {

struct Environment {
  /// WGRAD_VALIDATE=1, or the drop-in names' CUDNN_FE_GROUPED_GEMM_VALIDATE_DEVICE_VALUES=1: check
  /// device data before each run
  bool validate = false;
  int threads = 0;  ///< WGRAD_THREADS: CPU threads; 0: all this process may use
  std::optional<std::string> cache_dir;  ///< WGRAD_CACHE_DIR; "" turns the disk cache off
  std::string home;                      ///< HOME, for the default cache folder
  std::string xdg_cache_home;            ///< XDG_CACHE_HOME
  std::string nvrtc_library;             ///< WGRAD_NVRTC: path of libnvrtc
  std::string cuda_home;                 ///< CUDA_HOME or CUDA_PATH
  /// WGRAD_NVRTC_OPTIONS, at spaces: more options for every kernel that NVRTC compiles
  std::vector<std::string> nvrtc_options;
  int emu_seed = 0;  ///< WGRAD_EMU_SEED: first schedule of an emulated operator; 0: 1
  /// WGRAD_ALLOW_UNVERIFIED=1: kernels that have never run on their GPU may
  bool allow_unverified = false;
  int log_level = 0;  ///< WGRAD_LOG: 0 silent, 1 events
};

/// Reads the environment anew; call at preparation time, never per run. Throws ValueError for a
/// number that is none.
Environment read_environment();

}  // namespace wgrad::core
