// F099: many processes, one cold cache, a real compiler.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "jit/device_headers.hpp"
#include "jit/kernel_cache.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

/// Runs in a child process: 0 where it got whole machine code, from `origin` if that is given.
int get_kernel(const DiskCache& disk, std::optional<Origin> origin = std::nullopt) {
  try {
    const auto kernel = KernelCache(nvrtc_compiler()).get(small_kernel(7), disk);
    const bool whole = kernel.cubin->bytes.substr(0, 4) ==
                       "\x7f"
                       "ELF";
    return whole && kernel.origin == origin.value_or(kernel.origin) ? 0 : 1;
  } catch (const std::exception&) {
    return 2;
  }
}

/// The parent has not opened NVRTC, so every child opens and compiles by itself.
std::vector<pid_t> start(int count, const std::filesystem::path& folder) {
  std::vector<pid_t> children;
  for (int i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      add_wheel_folders();
      _exit(get_kernel(DiskCache(folder)));
    }
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

/// Of a child process; minus the signal that ended it.
int exit_code_of(const std::function<int()>& work) {
  const pid_t child = fork();
  if (child == 0) _exit(work());
  return exit_code(child);
}

bool nvrtc_is_missing() {
  return exit_code_of([] { return why_no_nvrtc().empty() ? 0 : 1; }) != 0;
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
    EXPECT_TRUE(disk.load(keys.front(), KernelKeys(device_headers()).of(small_kernel(7)).contract));
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
  const DiskCache dying(folder_.path(), [](const char*, const char*) { return raise(SIGKILL); });
  EXPECT_EQ(exit_code_of([&] {
              add_wheel_folders();
              return get_kernel(dying);
            }),
            -SIGKILL);
  EXPECT_TRUE(DiskCache(folder_.path()).keys("").empty());
  EXPECT_EQ(exit_codes(start(1, folder_.path())), std::multiset<int>({0}));
  expect_one_whole_entry();
}

/// A child that is not root, whom nothing is read-only for, compiles in each process anew.
TEST_F(CacheRace, AReadOnlyHomeIsNoHindrance) {
  core::Environment environment;
  environment.home = folder_.path();
  const auto disk = DiskCache::of(environment);
  ASSERT_TRUE(disk);
  chmod(folder_.path().c_str(), 0555);
  EXPECT_EQ(exit_code_of([&] {
              add_wheel_folders();
              Nvrtc::instance().compile(small_kernel(3), device_headers());  // opened as root may
              if (geteuid() == 0 && setuid(65534) != 0) return 3;
              return get_kernel(*disk, Origin::kCompiled);
            }),
            0);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

/// What `wgrad precompile` is for: another machine of the cluster has no compiler.
TEST_F(CacheRace, AProcessWithoutNvrtcTakesWhatAnotherCompiled) {
  EXPECT_EQ(exit_codes(start(1, folder_.path())), std::multiset<int>({0}));
  const auto without = [](const std::filesystem::path& folder) {
    return exit_code_of([&] {
      setenv("WGRAD_NVRTC", "/nowhere/libnvrtc.so", 1);  // NOLINT(concurrency-mt-unsafe)
      return get_kernel(DiskCache(folder), Origin::kDisk);
    });
  };
  EXPECT_EQ(without(folder_.path()), 0);
  EXPECT_EQ(without(folder_.path() / "empty"), 2);
}

}  // namespace
}  // namespace wgrad::jit
