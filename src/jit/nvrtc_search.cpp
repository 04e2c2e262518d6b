#include "jit/nvrtc_search.hpp"

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <string_view>

namespace wgrad::jit {
namespace {

namespace fs = std::filesystem;

struct Folders {
  std::mutex mutex;
  std::vector<std::string> list;
};

Folders& folders_of_process() {
  static Folders instance;
  return instance;
}

bool is_nvrtc(std::string_view file) {
  constexpr std::string_view kStem = "libnvrtc.so";
  if (!file.starts_with(kStem)) return false;
  return file.find_first_not_of("0123456789.", kStem.size()) == std::string_view::npos;
}

/// Longer names first: 13 before 9, "libnvrtc.so" last.
bool newer(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() > b.size() : a > b;
}

template <typename Predicate>
std::vector<std::string> entries(const fs::path& folder, Predicate wanted) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (wanted(it->path().filename().string())) found.push_back(it->path().string());
  }
  std::sort(found.begin(), found.end(), newer);
  return found;
}

void append(std::vector<std::string>& out, const fs::path& folder) {
  const auto found = entries(folder, is_nvrtc);
  out.insert(out.end(), found.begin(), found.end());
}

void append_toolkit(std::vector<std::string>& out, const fs::path& toolkit) {
  append(out, toolkit / "lib64");
  append(out, toolkit / "lib");
}

}  // namespace

void add_nvrtc_folder(const std::string& folder) {
  Folders& all = folders_of_process();
  const std::lock_guard lock(all.mutex);
  if (std::find(all.list.begin(), all.list.end(), folder) == all.list.end()) {
    all.list.push_back(folder);
  }
}

std::vector<std::string> added_nvrtc_folders() {
  Folders& all = folders_of_process();
  const std::lock_guard lock(all.mutex);
  return all.list;
}

std::vector<std::string> nvrtc_candidates(const core::Environment& environment,
                                          const std::vector<std::string>& folders,
                                          const std::string& toolkit_root) {
  if (!environment.nvrtc_library.empty()) return {environment.nvrtc_library};
  std::vector<std::string> out = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
  if (!environment.cuda_home.empty()) append_toolkit(out, environment.cuda_home);
  const auto is_toolkit = [](std::string_view name) { return name.starts_with("cuda"); };
  for (const auto& toolkit : entries(toolkit_root, is_toolkit)) append_toolkit(out, toolkit);
  for (const std::string& folder : folders) append(out, folder);
  return out;
}

}  // namespace wgrad::jit
