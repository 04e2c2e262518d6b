// F099: many processes, one cold cache, a real compiler.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

/// Runs in a child process: 0 where it got whole machine code.
int get_kernel(const std::filesystem::path& folder) {
  try {
    add_wheel_folders();
    const auto kernel = KernelCache(nvrtc_compiler()).get(small_kernel(7), DiskCache(folder));
    return kernel.cubin->bytes.substr(0, 4) ==
                   "\x7f"
                   "ELF"
               ? 0
               : 1;
  } catch (const std::exception&) {
    return 2;
  }
}

/// The parent has not opened NVRTC, so every child opens and compiles by itself.
std::vector<pid_t> start(int count, const std::filesystem::path& folder) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) _exit(get_kernel(folder));
    children.push_back(child);
  }
  return children;
}

int exit_code(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

std::multiset<int> exit_codes(const std::vector<pid_t>& children) {
  std::multiset<int> codes;
  for (const pid_t child : children) codes.insert(exit_code(child));
  return codes;
}

bool nvrtc_is_missing() {
  const pid_t child = fork();
  if (child == 0) _exit(why_no_nvrtc().empty() ? 0 : 1);
  return exit_code(child) != 0;
}

class CacheRace : public testing::Test {
 protected:
  void SetUp() override {
    if (!nvrtc_is_missing()) return;
    const char* required = std::getenv("WGRAD_REQUIRE_NVRTC");  // NOLINT(concurrency-mt-unsafe)
    ASSERT_TRUE(required == nullptr || std::string(required) != "1") << "NVRTC is missing";
    GTEST_SKIP() << "NVRTC is missing: " << why_no_nvrtc();
  }

  void expect_one_whole_entry() const {
    const DiskCache disk(folder_.path());
    const auto keys = disk.keys("");
    ASSERT_EQ(keys.size(), 1U);
    EXPECT_TRUE(disk.load(keys.front()));
  }

  const TemporaryFolder folder_;
};

TEST_F(CacheRace, F099SixteenProcessesShareAColdCache) {
  EXPECT_EQ(exit_codes(start(16, folder_.path())),
            std::multiset<int>({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  expect_one_whole_entry();
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1)
      << "no temporary file stays";
}

TEST_F(CacheRace, F099KilledProcessesLeaveTheOthersUnharmed) {
  const auto victims = start(4, folder_.path());
  const auto survivors = start(4, folder_.path());
  for (const pid_t victim : victims) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kill(victim, SIGKILL);
  }
  exit_codes(victims);
  EXPECT_EQ(exit_codes(survivors), std::multiset<int>({0, 0, 0, 0}));
  expect_one_whole_entry();
}

/// A writer that dies between writing and renaming, every time.
TEST_F(CacheRace, F099AWriterKilledMidwayPublishesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    const DiskCache disk(folder_.path(), [](const char*, const char*) { return raise(SIGKILL); });
    disk.store("k", {"code", "log"});
    _exit(0);
  }
  EXPECT_EQ(exit_code(child), -SIGKILL);
  const DiskCache disk(folder_.path());
  EXPECT_FALSE(disk.load("k"));
  EXPECT_TRUE(disk.keys("").empty());
  EXPECT_TRUE(disk.store("k", {"code", "log"}));
  EXPECT_TRUE(disk.load("k"));
}

}  // namespace
}  // namespace wgrad::jit
