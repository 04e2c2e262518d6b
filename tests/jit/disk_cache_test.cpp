#include "jit/disk_cache.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string_view>

#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kContract = "contract";
const Cubin kCubin = {std::string("\x7f"
                                  "ELF\0code\n",
                                  10),
                      "a log\nof two lines\n"};

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::size_t file_count(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

bool holds(const DiskCache& cache, const std::string& key) {
  const auto found = cache.load(key, kContract);
  return found && found->bytes == kCubin.bytes && found->log == kCubin.log;
}

TEST(DiskCache, GivesBackWhatWasStored) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path() / "made" / "on demand");
  EXPECT_FALSE(cache.load("k", kContract));
  ASSERT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  EXPECT_TRUE(holds(cache, "k"));
  EXPECT_FALSE(cache.load("other", kContract));
  EXPECT_EQ(file_count(cache.folder()), 1U) << "no temporary file stays";
}

TEST(DiskCache, TakesNoEntryThatLacksAByteOrHasOneMore) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  ASSERT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  const std::string whole = read(cache.path("k"));
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(cache.path("k"), whole.substr(0, size));
    ASSERT_FALSE(cache.load("k", kContract)) << "cut to " << size << " bytes";
  }
  write(cache.path("k"), whole + '\0');
  EXPECT_FALSE(cache.load("k", kContract));
}

TEST(DiskCache, TakesNoEntryWithAByteChanged) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  ASSERT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  const std::string whole = read(cache.path("k"));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write(cache.path("k"), damaged);
    ASSERT_FALSE(cache.load("k", kContract)) << "byte " << i;
  }
  write(cache.path("k"), whole);
  EXPECT_TRUE(holds(cache, "k"));
}

TEST(DiskCache, TakesNoForeignEntry) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  ASSERT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  fs::copy_file(cache.path("k"), cache.path("renamed"));
  EXPECT_FALSE(cache.load("renamed", kContract)) << "an entry says which key it belongs to";
  write(cache.path("elf"), kCubin.bytes);
  EXPECT_FALSE(cache.load("elf", kContract));
  fs::create_directory(cache.path("folder"));
  EXPECT_FALSE(cache.load("folder", kContract));
}

TEST(DiskCache, ReplacesADamagedEntry) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  write(cache.path("k"), "wgrad kernel 2\nk\n");
  ASSERT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  EXPECT_TRUE(holds(cache, "k"));
}

TEST(DiskCache, RefusesAFolderThatCannotBeMade) {
  const TemporaryFolder folder;
  write(folder.path() / "file", "in the way");
  const DiskCache cache(folder.path() / "file" / "cache");
  EXPECT_EQ(cache.store("k", kCubin, kContract), std::errc::not_a_directory);
  EXPECT_FALSE(cache.load("k", kContract));
  EXPECT_TRUE(cache.keys("").empty());
  EXPECT_EQ(DiskCache(folder.path() / "file").store("k", kCubin, kContract),
            std::errc::not_a_directory);
  EXPECT_EQ(DiskCache(folder.path() / std::string(300, 'x')).store("k", kCubin, kContract),
            std::errc::filename_too_long);
}

// A limit on the size of files stands for the disk's.
TEST(DiskCache, SaysThatTheDiskIsFull) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit little{16, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  const std::error_code error = cache.store("k", kCubin, kContract);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(error, std::errc::file_too_large);
  EXPECT_EQ(file_count(folder.path()), 0U);
}

// In a child that is not root, whom nothing is read-only for.
TEST(DiskCache, RefusesAReadOnlyFolder) {
  const TemporaryFolder folder;
  chmod(folder.path().c_str(), 0555);
  const pid_t child = fork();
  if (child == 0) {
    const bool root = geteuid() == 0;
    if (root && (chown(folder.path().c_str(), 65534, 65534) != 0 || setuid(65534) != 0)) _exit(2);
    _exit(DiskCache(folder.path()).store("k", kCubin, kContract) == std::errc::permission_denied
              ? 0
              : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(file_count(folder.path()), 0U);
}

TEST(DiskCache, CleansUpWhereRenamingFails) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), [](const char*, const char*) { return errno = EIO, -1; });
  EXPECT_EQ(cache.store("k", kCubin, kContract), std::errc::io_error);
  EXPECT_EQ(file_count(folder.path()), 0U);
}

// NFS repeats a rename whose answer got lost; the repetition finds nothing to rename.
TEST(DiskCache, BelievesTheEntryRatherThanTheRename) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path(), [](const char* from, const char* to) {
    std::rename(from, to);
    return errno = ENOENT, -1;
  });
  EXPECT_EQ(cache.store("k", kCubin, kContract), std::error_code());
  EXPECT_TRUE(holds(cache, "k"));
}

TEST(DiskCache, RemovesOnlyTemporariesLongAbandoned) {
  const TemporaryFolder folder;
  const fs::path old = folder.path() / ".writing-1-dead", young = folder.path() / ".writing-2-live";
  write(old, "half");
  write(young, "half");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  ASSERT_EQ(DiskCache(folder.path()).store("k", kCubin, kContract), std::error_code());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST(DiskCache, ListsKeysByPrefix) {
  const TemporaryFolder folder;
  const DiskCache cache(folder.path());
  for (const char* key : {"ab-2", "ab-1", "b-1"})
    ASSERT_EQ(cache.store(key, kCubin, kContract), std::error_code());
  write(folder.path() / "ab-3.txt", "not a kernel");
  EXPECT_EQ(cache.keys("ab"), (std::vector<std::string>{"ab-1", "ab-2"}));
}

TEST(DiskCacheFolder, FollowsTheEnvironment) {
  core::Environment environment;
  EXPECT_FALSE(DiskCache::of(environment)) << "no home, no cache";
  environment.home = "/home/me";
  EXPECT_EQ(DiskCache::of(environment)->folder(), "/home/me/.cache/wgrad");
  environment.xdg_cache_home = "/xdg";
  EXPECT_EQ(DiskCache::of(environment)->folder(), "/xdg/wgrad");
  environment.cache_dir = "/shared";
  EXPECT_EQ(DiskCache::of(environment)->folder(), "/shared");
  environment.cache_dir = "";
  EXPECT_FALSE(DiskCache::of(environment)) << "empty turns it off";
}

}  // namespace
}  // namespace wgrad::jit
