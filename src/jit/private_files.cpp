#include "jit/private_files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace wgrad::jit {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthersMayWrite = S_IWGRP | S_IWOTH;

/// Of the system call that just failed.
std::error_code last_error() {
  return {errno != 0 ? errno : EIO, std::generic_category()};
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

std::error_code write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return last_error();
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return {};
}

/// nullopt where it cannot be read, as with a stale network handle.
std::optional<std::string> read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  for (;;) {
    const ssize_t got = read(file, buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

std::string why_not_used(const fs::path& path, const Descriptor& opened) {
  struct stat status {};
  if (fstat(opened.number(), &status) != 0) return {};
  return why_not_private(path, status);
}

}  // namespace

std::string why_not_private(const fs::path& path, const struct stat& status) {
  const char* const kind = S_ISDIR(status.st_mode) ? "folder" : "file";
  if (!S_ISDIR(status.st_mode) && !S_ISREG(status.st_mode)) {
    return fmt::format("{} is neither a file nor a folder; it is not used", path.string());
  }
  if (status.st_uid != geteuid()) {
    return fmt::format(
        "{} is a {} of user {}; it must be one of the user who runs this, {}, to be used",
        path.string(), kind, status.st_uid, geteuid());
  }
  if ((status.st_mode & kOthersMayWrite) != 0) {
    return fmt::format(
        "{} is a {} that others may write (mode {:o}); its owner alone must be able "
        "to, for it to be used",
        path.string(), kind, status.st_mode & 07777U);
  }
  return {};
}

std::string why_not_private(const fs::path& folder) {
  struct stat status {};
  return stat(folder.c_str(), &status) == 0 ? why_not_private(folder, status) : std::string();
}

std::error_code make_private_folder(const fs::path& folder) {
  std::error_code error;
  if (folder.has_parent_path()) fs::create_directories(folder.parent_path(), error);
  if (error || mkdir(folder.c_str(), S_IRWXU) == 0) return error;
  error = last_error();
  if (error != std::errc::file_exists) return error;
  std::error_code ignored;
  return fs::is_directory(folder, ignored) ? std::error_code()
                                           : make_error_code(std::errc::not_a_directory);
}

/// A full disk may only show when the file is closed (NFS).
std::error_code write_private_file(const fs::path& path, std::string_view bytes) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return last_error();
  const std::error_code error = write_all(file, bytes);
  const bool closed = close(file) == 0;
  return error || closed ? error : last_error();
}

PrivateFile read_private_file(const fs::path& path) {
  const fs::path above = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const Descriptor folder(open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return {};
  std::string why = why_not_used(above, folder);
  if (!why.empty()) return {std::nullopt, std::move(why)};
  const Descriptor file(openat(folder.number(), path.filename().c_str(),
                               O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) return {};
  why = why_not_used(path, file);
  if (!why.empty()) return {std::nullopt, std::move(why)};
  return {read_all(file.number()), {}};
}

}  // namespace wgrad::jit
