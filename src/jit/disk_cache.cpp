#include "jit/disk_cache.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/digest.hpp"
#include "core/log.hpp"
#include "jit/private_files.hpp"

namespace wgrad::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "wgrad kernel 2";
constexpr std::string_view kSuffix = ".kernel";
constexpr std::string_view kTemporary = ".writing-";
constexpr auto kAbandoned = std::chrono::hours(1);  // no writer takes that long

std::string encode(const std::string& key, std::string_view contract, const Cubin& cubin) {
  const std::string checksum = core::Sha256().update(cubin.log).update(cubin.bytes).hex();
  return fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n", kMagic, key, contract, cubin.log.size(),
                     cubin.bytes.size(), checksum) +
         cubin.log + cubin.bytes;
}

std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

std::optional<std::size_t> take_size(std::string_view& text) {
  const auto line = take_line(text);
  std::size_t value = 0;
  if (!line) return std::nullopt;
  const auto [end, error] = std::from_chars(line->data(), line->data() + line->size(), value);
  if (error != std::errc() || end != line->data() + line->size()) return std::nullopt;
  return value;
}

std::optional<Cubin> decode(std::string_view text, const std::string& key,
                            std::string_view contract) {
  if (take_line(text) != kMagic || take_line(text) != key) return std::nullopt;
  if (take_line(text) != contract) return std::nullopt;
  const auto log_size = take_size(text);
  const auto size = take_size(text);
  const auto checksum = take_line(text);
  if (!log_size || !size || !checksum) return std::nullopt;
  if (*log_size > text.size() || text.size() - *log_size != *size) return std::nullopt;
  if (core::sha256_hex(text) != *checksum) return std::nullopt;
  return Cubin{std::string(text.substr(*log_size)), std::string(text.substr(0, *log_size))};
}

/// Unlike any other writer's, on this machine or another that shares the folder.
std::string unique_name() {
  std::random_device device;
  return fmt::format("{}{}-{:08x}{:08x}", kTemporary, getpid(), device(), device());
}

/// Files that killed writers left behind.
void remove_abandoned(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with(kTemporary)) continue;
    std::error_code ignored;
    const auto written = fs::last_write_time(it->path(), ignored);
    if (!ignored && fs::file_time_type::clock::now() - written > kAbandoned) {
      fs::remove(it->path(), ignored);
    }
  }
}

}  // namespace

DiskCache::DiskCache(fs::path folder, Rename rename)
    : folder_(std::move(folder)), rename_(std::move(rename)) {
  if (!rename_) rename_ = [](const char* from, const char* to) { return std::rename(from, to); };
}

std::optional<DiskCache> DiskCache::of(const core::Environment& environment) {
  if (environment.cache_dir) {
    if (environment.cache_dir->empty()) return std::nullopt;
    return DiskCache(*environment.cache_dir);
  }
  if (!environment.xdg_cache_home.empty()) {
    return DiskCache(fs::path(environment.xdg_cache_home) / "wgrad");
  }
  if (environment.home.empty()) return std::nullopt;
  return DiskCache(fs::path(environment.home) / ".cache" / "wgrad");
}

std::string DiskCache::why_not_used() const {
  return why_not_private(folder_);
}

fs::path DiskCache::path(const std::string& key) const {
  return folder_ / (key + std::string(kSuffix));
}

std::optional<Cubin> DiskCache::load(const std::string& key, std::string_view contract) const {
  const PrivateFile file = read_private_file(path(key));
  if (!file.why_not.empty()) core::log_once(1, "the kernel cache's " + file.why_not);
  if (!file.bytes) return std::nullopt;
  auto cubin = decode(*file.bytes, key, contract);
  if (!cubin)
    core::log(1, fmt::format("cache entry {} is damaged or of another kernel", path(key).string()));
  return cubin;
}

std::error_code DiskCache::store(const std::string& key, const Cubin& cubin,
                                 std::string_view contract) const {
  std::error_code error = make_private_folder(folder_);
  if (!error && !why_not_used().empty()) {
    core::log_once(1, "the kernel cache's " + why_not_used());
    return make_error_code(std::errc::operation_not_permitted);
  }
  if (!error) error = write_and_rename(key, encode(key, contract, cubin));
  if (error) {
    core::log(1, fmt::format("cannot write to the kernel cache {}: {}; kernels stay in memory",
                             folder_.string(), error.message()));
  } else {
    remove_abandoned(folder_);
  }
  return error;
}

std::error_code DiskCache::write_and_rename(const std::string& key,
                                            const std::string& entry) const {
  const fs::path temporary = folder_ / unique_name();
  std::error_code error = write_private_file(temporary, entry);
  if (!error && rename_(temporary.c_str(), path(key).c_str()) != 0) {
    error = {errno, std::generic_category()};
  }
  if (!error) return error;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  // A retried rename over a network may fail after the first one succeeded.
  return read_private_file(path(key)).bytes == entry ? std::error_code() : error;
}

std::vector<std::string> DiskCache::keys(const std::string& prefix) const {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) continue;
    found.push_back(name.substr(0, name.size() - kSuffix.size()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace wgrad::jit
