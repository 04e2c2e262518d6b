#include "core/environment.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <iterator>
#include <sstream>

#include "wgrad/errors.hpp"

namespace wgrad::core {
namespace {

std::optional<std::string> get(const char* variable) {
  const char* value =
      std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here calls setenv
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

/// A number of 0 or more; 0 where the variable is unset or empty.
int get_int(const char* variable) {
  const std::string text = get(variable).value_or("");
  if (text.empty()) return 0;
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || read != end || value < 0) {
    throw ValueError(
        fmt::format("wgrad: {} is '{}'; it must be a whole number of 0 or more", variable, text));
  }
  return value;
}

std::vector<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

}  // namespace

Environment read_environment() {
  Environment env;
  env.validate =
      get_int("WGRAD_VALIDATE") != 0 || get("CUDNN_FE_GROUPED_GEMM_VALIDATE_DEVICE_VALUES") == "1";
  env.threads = get_int("WGRAD_THREADS");
  env.cache_dir = get("WGRAD_CACHE_DIR");
  env.home = get("HOME").value_or("");
  env.xdg_cache_home = get("XDG_CACHE_HOME").value_or("");
  env.nvrtc_library = get("WGRAD_NVRTC").value_or("");
  env.cuda_home = get("CUDA_HOME").value_or(get("CUDA_PATH").value_or(""));
  env.nvrtc_options = words(get("WGRAD_NVRTC_OPTIONS").value_or(""));
  env.emu_seed = get_int("WGRAD_EMU_SEED");
  env.allow_unverified = get_int("WGRAD_ALLOW_UNVERIFIED") != 0;
  env.log_level = get_int("WGRAD_LOG");
  return env;
}

}  // namespace wgrad::core
