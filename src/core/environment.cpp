#include "core/environment.hpp"

#include <cstdlib>

namespace wgrad::core {
namespace {

std::optional<std::string> get(const char* variable) {
  const char* value =
      std::getenv(variable);  // NOLINT(concurrency-mt-unsafe): nothing here calls setenv
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

int get_int(const char* variable) {
  const auto text = get(variable);
  return text ? static_cast<int>(std::strtol(text->c_str(), nullptr, 10)) : 0;
}

}  // namespace

Environment read_environment() {
  Environment env;
  env.validate = get_int("WGRAD_VALIDATE") != 0;
  env.threads = get_int("WGRAD_THREADS");
  env.cache_dir = get("WGRAD_CACHE_DIR");
  env.home = get("HOME").value_or("");
  env.xdg_cache_home = get("XDG_CACHE_HOME").value_or("");
  env.nvrtc_library = get("WGRAD_NVRTC").value_or("");
  env.cuda_home = get("CUDA_HOME").value_or(get("CUDA_PATH").value_or(""));
  env.emu_seed = get_int("WGRAD_EMU_SEED");
  env.log_level = get_int("WGRAD_LOG");
  return env;
}

}  // namespace wgrad::core
