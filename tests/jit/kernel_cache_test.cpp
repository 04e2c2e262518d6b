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
            [this](const codegen::KernelSource& source) {
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

TEST(KernelCache, EverythingThatChangesTheCodeChangesTheKey) {
  const auto key = [](auto change) {
    auto source = small_kernel(2);
    change(source);
    return source_key(source);
  };
  const std::string same = key([](auto&) {});
  EXPECT_EQ(same, key([](auto& s) { s.name = "for people only"; }));
  EXPECT_NE(same, key([](auto& s) { s.text += " "; }));
  EXPECT_NE(same, key([](auto& s) { s.entry += "_"; }));
  EXPECT_NE(same, key([](auto& s) { s.options[0] = "--gpu-architecture=sm_100a"; }));
  EXPECT_NE(same, key([](auto& s) { s.options.emplace_back("-lineinfo"); }));
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
  EXPECT_TRUE(disk.load(again.key));
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
                     [&](const codegen::KernelSource&) -> Cubin {
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
