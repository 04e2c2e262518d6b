#include "core/shared_library.hpp"

#include <dlfcn.h>

namespace wgrad::core {

std::optional<SharedLibrary> SharedLibrary::open(const std::string& name, std::string* why) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle != nullptr) return SharedLibrary(handle);
  // NOLINTNEXTLINE(concurrency-mt-unsafe): glibc and musl keep this text per thread
  const char* text = dlerror();
  if (why != nullptr) *why = text != nullptr ? text : "unknown error";
  return std::nullopt;
}

void* SharedLibrary::symbol(const char* name) const {
  return dlsym(handle_, name);
}

std::string SharedLibrary::file_of(const void* address) {
  Dl_info info = {};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  return info.dli_fname;
}

}  // namespace wgrad::core
