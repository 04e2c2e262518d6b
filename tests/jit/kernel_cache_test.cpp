#include "jit/kernel_cache.hpp"

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "jit/nvrtc_fixture.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

/// A compiler that counts, so that a test sees who compiled.
struct CountingCompiler {
  std::atomic<int> compilations = 0;
  std::string version = "13.0";

  Compiler compiler() {
    return {[this] {
              if (version.empty()) throw RuntimeError("wgrad: no usable NVRTC");
              return version;
            },
            [this](const kernels::KernelSource& source, Headers) {
              ++compilations;
              return Cubin{"code of " + source.text + " by " + version, "log"};
            }};
  }
};

TEST(KernelCache, CompilesOnceThenRemembers) {
  CountingCompiler counting;
  KernelCache cache(counting.compiler());
  const auto first = cache.get(small_kernel(2), std::nullopt);
  const auto second = cache.get(small_kernel(2), std::nullopt);
  EXPECT_EQ(first.origin, Origin::kCompiled);
  EXPECT_EQ(second.origin, Origin::kMemory);
  EXPECT_EQ(second.cubin, first.cubin);
  EXPECT_FALSE(first.on_disk);
  EXPECT_EQ(cache.get(small_kernel(3), std::nullopt).origin, Origin::kCompiled);
  EXPECT_EQ(counting.compilations, 2);
}

TEST(KernelCache, AnotherProcessFindsTheEntryOnDisk) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  EXPECT_TRUE(KernelCache(counting.compiler()).get(small_kernel(2), disk).on_disk);
  const auto found = KernelCache(counting.compiler()).get(small_kernel(2), disk);
  EXPECT_EQ(found.origin, Origin::kDisk);
  EXPECT_EQ(counting.compilations, 1);
}

TEST(KernelCache, AnotherCompilerVersionCompilesAnew) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  KernelCache(counting.compiler()).get(small_kernel(2), disk);
  counting.version = "13.2";
  EXPECT_EQ(KernelCache(counting.compiler()).get(small_kernel(2), disk).origin, Origin::kCompiled);
  EXPECT_EQ(disk.keys("").size(), 2U);
}

TEST(KernelCache, AnotherHeaderCompilesAnew) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  const DeviceHeader old = {"a.hpp", "int x;"}, updated = {"a.hpp", "int y;"};
  const auto origin = [&](const DeviceHeader& header) {
    return KernelCache(counting.compiler(), Headers(&header, 1)).get(small_kernel(2), disk).origin;
  };
  EXPECT_EQ(origin(old), Origin::kCompiled);
  EXPECT_EQ(origin(old), Origin::kDisk);
  EXPECT_EQ(origin(updated), Origin::kCompiled);
  EXPECT_EQ(origin(updated), Origin::kDisk);
}

/// As where a key forgot what the code follows: the entry says what it was made of.
TEST(KernelCache, AnEntryOfTheSameKeyAndAnotherContractIsNotUsed) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  const KernelKey kernel = KernelKeys(device_headers()).of(small_kernel(2));
  const std::string key = kernel.key + "-nvrtc13.0";
  ASSERT_EQ(disk.store(key, {"foreign code", ""}, KernelKeys({}).of(small_kernel(2)).contract),
            std::error_code());
  const auto found = KernelCache(counting.compiler()).get(small_kernel(2), disk);
  EXPECT_EQ(found.key, key);
  EXPECT_EQ(found.origin, Origin::kCompiled);
  EXPECT_NE(found.cubin->bytes, "foreign code");
  EXPECT_EQ(disk.load(key, kernel.contract)->bytes, found.cubin->bytes) << "replaced";
  counting.version = "";
  ASSERT_EQ(disk.store(key, {"foreign code", ""}, "another"), std::error_code());
  EXPECT_THROW(KernelCache(counting.compiler()).get(small_kernel(2), disk), RuntimeError);
}

TEST(KernelCache, WithoutACompilerAnEntryOfAnyVersionWillDo) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  const auto compiled = KernelCache(counting.compiler()).get(small_kernel(2), disk);
  counting.version = "";
  const auto found = KernelCache(counting.compiler()).get(small_kernel(2), disk);
  EXPECT_EQ(found.origin, Origin::kDisk);
  EXPECT_EQ(found.cubin->bytes, compiled.cubin->bytes);
  EXPECT_THROW(KernelCache(counting.compiler()).get(small_kernel(3), disk), RuntimeError);
}

TEST(KernelCache, PublishesFromMemoryWhereTheDiskLostIt) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  CountingCompiler counting;
  KernelCache cache(counting.compiler());
  cache.get(small_kernel(2), std::nullopt);
  const auto again = cache.get(small_kernel(2), disk);
  EXPECT_EQ(again.origin, Origin::kMemory);
  EXPECT_TRUE(again.on_disk);
  EXPECT_EQ(KernelCache(counting.compiler()).get(small_kernel(2), disk).origin, Origin::kDisk);
}

TEST(KernelCache, ThreadsWaitForOneCompilation) {
  CountingCompiler counting;
  KernelCache cache(counting.compiler());
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { cache.get(small_kernel(2), std::nullopt); });
  }
  threads.clear();
  EXPECT_EQ(counting.compilations, 1);
}

TEST(KernelCache, AFailureIsNotRemembered) {
  int calls = 0;
  KernelCache cache({[] { return std::string("13.0"); },
                     [&](const kernels::KernelSource&, Headers) -> Cubin {
                       if (++calls == 1) throw RuntimeError("wgrad: out of memory");
                       return {"code", ""};
                     }});
  EXPECT_THROW(cache.get(small_kernel(2), std::nullopt), RuntimeError);
  EXPECT_EQ(cache.get(small_kernel(2), std::nullopt).cubin->bytes, "code");
}

class RealKernelCache : public NvrtcTest {};

TEST_F(RealKernelCache, RebuildsACorruptEntryAndRunsWithoutAFolder) {
  const TemporaryFolder folder;
  const DiskCache disk(folder.path());
  const auto first = KernelCache(nvrtc_compiler()).get(small_kernel(2), disk);
  ASSERT_EQ(first.origin, Origin::kCompiled);
  ASSERT_EQ(first.cubin->bytes.substr(0, 4),
            "\x7f"
            "ELF");
  std::ofstream(disk.path(first.key), std::ios::trunc) << "torn";
  const auto rebuilt = KernelCache(nvrtc_compiler()).get(small_kernel(2), disk);
  EXPECT_EQ(rebuilt.origin, Origin::kCompiled);
  EXPECT_EQ(rebuilt.cubin->bytes, first.cubin->bytes);
  EXPECT_EQ(KernelCache(nvrtc_compiler()).get(small_kernel(2), disk).origin, Origin::kDisk);
  std::ofstream(folder.path() / "file") << "in the way";
  const auto unstored =
      KernelCache(nvrtc_compiler()).get(small_kernel(2), DiskCache(folder.path() / "file" / "x"));
  EXPECT_EQ(unstored.cubin->bytes, first.cubin->bytes);
  EXPECT_FALSE(unstored.on_disk);
  EXPECT_EQ(unstored.disk_error, std::errc::not_a_directory);
}

}  // namespace
}  // namespace wgrad::jit
