// A library opened while the program runs. Never closed: its code may be on some thread's stack.
#pragma once

#include <optional>
#include <string>

namespace wgrad::core {

class SharedLibrary {
 public:
  /// nullopt where the loader finds none or refuses it; `why` then gets the loader's words.
  static std::optional<SharedLibrary> open(const std::string& name, std::string* why = nullptr);

  /// The function called `name`, or null.
  template <typename Function>
  Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  /// The file that holds `address`, as the loader names it; empty where unknown.
  static std::string file_of(const void* address);

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}
  void* symbol(const char* name) const;

  void* handle_;
};

}  // namespace wgrad::core
