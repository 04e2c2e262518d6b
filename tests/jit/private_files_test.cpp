#include "jit/private_files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "core/log.hpp"
#include "jit/disk_cache.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

namespace fs = std::filesystem;

/// Before the log is first asked for: what is not used is said once.
const int kLogged = setenv("WGRAD_LOG", "1", 1);  // NOLINT(concurrency-mt-unsafe)

constexpr std::string_view kContract = "contract";
const Cubin kCubin = {"code", "log"};

mode_t mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

class PrivateFiles : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(kLogged, 0);
    ASSERT_EQ(cache_.store("k", kCubin, kContract), std::error_code());
    ASSERT_TRUE(cache_.load("k", kContract));
  }

  TemporaryFolder above_;
  DiskCache cache_{above_.path() / "cache"};
};

TEST_F(PrivateFiles, TheOwnerAloneMayReadAndWriteThem) {
  for (const mode_t mask : {0000, 0002, 0022, 0077}) {
    const mode_t before = umask(mask);
    const DiskCache cache(above_.path() / std::to_string(mask));
    EXPECT_EQ(cache.store("k", kCubin, kContract), std::error_code());
    umask(before);
    EXPECT_EQ(mode_of(cache.folder()), 0700) << mask;
    EXPECT_EQ(mode_of(cache.path("k")), 0600) << mask;
    EXPECT_TRUE(cache.load("k", kContract));
  }
}

TEST_F(PrivateFiles, AnEntryThatOthersMayWriteIsNotUsed) {
  for (const mode_t mode : {0620, 0602, 0666, 0777}) {
    chmod(cache_.path("k").c_str(), mode);
    EXPECT_FALSE(cache_.load("k", kContract)) << std::oct << mode;
  }
  for (const mode_t mode : {0600, 0640, 0644, 0400, 0755}) {
    chmod(cache_.path("k").c_str(), mode);
    EXPECT_TRUE(cache_.load("k", kContract)) << std::oct << mode;
  }
  chmod(cache_.path("k").c_str(), 0666);
  ASSERT_EQ(cache_.store("k", kCubin, kContract), std::error_code())
      << "replaced by one of this user's";
  EXPECT_TRUE(cache_.load("k", kContract));
}

TEST_F(PrivateFiles, AFolderThatOthersMayWriteIsNeitherReadNorWritten) {
  for (const mode_t mode : {0770, 0702, 0777, 01777}) {
    chmod(cache_.folder().c_str(), mode);
    EXPECT_FALSE(cache_.load("k", kContract)) << std::oct << mode;
    EXPECT_EQ(cache_.store("other", kCubin, kContract), std::errc::operation_not_permitted);
    EXPECT_FALSE(fs::exists(cache_.path("other")));
    EXPECT_NE(cache_.why_not_used(), "");
  }
  for (const mode_t mode : {0700, 0750, 0755}) {
    chmod(cache_.folder().c_str(), mode);
    EXPECT_EQ(cache_.why_not_used(), "");
    EXPECT_TRUE(cache_.load("k", kContract)) << std::oct << mode;
  }
}

TEST_F(PrivateFiles, WhatAnotherUserOwnsIsNotUsed) {
  struct stat status {};
  status.st_mode = S_IFREG | 0600;
  status.st_uid = geteuid();
  EXPECT_EQ(why_not_private("f", status), "");
  status.st_uid += 1;
  EXPECT_EQ(why_not_private("f", status), "f is a file of user " + std::to_string(geteuid() + 1) +
                                              "; it must be one of the user who runs this, " +
                                              std::to_string(geteuid()) + ", to be used");
  if (geteuid() != 0) return;  // root alone can give files away
  ASSERT_EQ(chown(cache_.path("k").c_str(), 65534, 65534), 0);
  EXPECT_FALSE(cache_.load("k", kContract));
  ASSERT_EQ(chown(cache_.path("k").c_str(), 0, 0), 0);
  EXPECT_TRUE(cache_.load("k", kContract));
  ASSERT_EQ(chown(cache_.folder().c_str(), 65534, 65534), 0);
  EXPECT_FALSE(cache_.load("k", kContract));
  EXPECT_EQ(cache_.store("other", kCubin, kContract), std::errc::operation_not_permitted);
}

TEST_F(PrivateFiles, OnlyRegularFilesAreReadAndNothingIsWaitedFor) {
  ASSERT_EQ(mkfifo(cache_.path("pipe").c_str(), 0600), 0);
  fs::create_directory(cache_.path("folder"));
  fs::create_symlink("/dev/zero", cache_.path("device"));
  for (const char* key : {"pipe", "folder", "device"})
    EXPECT_FALSE(cache_.load(key, kContract)) << key;
  ASSERT_EQ(cache_.store("pipe", kCubin, kContract), std::error_code());
  EXPECT_TRUE(cache_.load("pipe", kContract));
}

TEST_F(PrivateFiles, EachThingThatIsNotUsedIsSaidOnce) {
  chmod(cache_.path("k").c_str(), 0666);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(cache_.load("k", kContract));
  chmod(cache_.folder().c_str(), 0777);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(cache_.load("k", kContract));
  for (int i = 0; i < 3; ++i) EXPECT_NE(cache_.store("k", kCubin, kContract), std::error_code());
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(said, "\n"), 2U) << said;
  EXPECT_EQ(count(said, "wgrad: the kernel cache's " + cache_.path("k").string() +
                            " is a file that others may write (mode 666); its owner alone must be "
                            "able to, for it to be used\n"),
            1U)
      << said;
  EXPECT_EQ(count(said, "wgrad: the kernel cache's " + cache_.folder().string() +
                            " is a folder that others may write (mode 777); its owner alone must "
                            "be able to, for it to be used\n"),
            1U)
      << said;
}

}  // namespace
}  // namespace wgrad::jit
