// Files that nobody but this user can have written. Compiled kernels are code: whoever writes one
// decides what every process that loads it runs.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace wgrad::jit {

/// Why what `status` says of `path` is not used, in a sentence: another user than this process's
/// owns it, or others than its owner may write it. "" where it is used.
std::string why_not_private(const std::filesystem::path& path, const struct stat& status);

/// The same of a folder, or of what stands in its place; "" where there is none.
std::string why_not_private(const std::filesystem::path& folder);

/// Makes a folder of mode 0700 where there is none, with all that are above it.
std::error_code make_private_folder(const std::filesystem::path& folder);

/// Writes a file of mode 0600 that must not exist yet.
std::error_code write_private_file(const std::filesystem::path& path, std::string_view bytes);

/// What a file holds, or why it is not used: nothing to say of one that cannot be opened or read.
struct PrivateFile {
  std::optional<std::string> bytes;
  std::string why_not;
};

/// Reads a regular file of this user in a folder of this user, neither of which others may write.
/// Never waits, as opening a pipe would.
PrivateFile read_private_file(const std::filesystem::path& path);

}  // namespace wgrad::jit
