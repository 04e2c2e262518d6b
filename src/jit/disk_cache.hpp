// Compiled kernels on disk, shared by any number of processes and machines without a lock: an entry
// appears whole or not at all (written beside its place, then renamed), says what it is and how
// long, and carries a checksum; whatever does not fit is as good as absent. So is what others than
// this user could have written.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/environment.hpp"
#include "jit/nvrtc.hpp"

namespace wgrad::jit {

class DiskCache {
 public:
  using Rename = std::function<int(const char* from, const char* to)>;

  /// `rename` stands for the file system's in tests.
  explicit DiskCache(std::filesystem::path folder, Rename rename = {});

  /// WGRAD_CACHE_DIR, else XDG_CACHE_HOME/wgrad, else HOME/.cache/wgrad; nullopt where
  /// WGRAD_CACHE_DIR is empty or none of them is set.
  static std::optional<DiskCache> of(const core::Environment& environment);

  /// Why the folder is neither read nor written, in a sentence: it is another user's, or others
  /// may write into it. "" where it is used, or made when the first entry comes.
  std::string why_not_used() const;

  /// The entry called `key` that was stored with this `contract`; nullopt where there is none that
  /// is whole.
  std::optional<Cubin> load(const std::string& key, std::string_view contract) const;
  /// Publishes an entry; a contract is one line. An error, and a line in the log, where the folder
  /// takes none.
  [[nodiscard]] std::error_code store(const std::string& key, const Cubin& cubin,
                                      std::string_view contract) const;
  /// Names of entries that start with `prefix`, sorted.
  std::vector<std::string> keys(const std::string& prefix) const;

  const std::filesystem::path& folder() const noexcept { return folder_; }
  std::filesystem::path path(const std::string& key) const;

 private:
  std::error_code write_and_rename(const std::string& key, const std::string& entry) const;

  std::filesystem::path folder_;
  Rename rename_;
};

}  // namespace wgrad::jit
