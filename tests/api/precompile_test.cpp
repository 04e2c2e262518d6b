#include "wgrad/precompile.hpp"

#include <stdlib.h>  // setenv

#include <filesystem>
#include <fstream>
#include <vector>

#include "jit/nvrtc_fixture.hpp"
#include "jit/temporary_folder.hpp"
#include "support/refusal.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/explain.hpp"

namespace wgrad {
namespace {

Problem plain() {
  Problem p;
  p.experts = 4;
  p.m = 512;
  p.n = 1024;
  p.tokens = 4096;
  p.tiling = {128, 64, 0, 0};  // the quickest to compile
  return p;
}

class Precompile : public jit::NvrtcTest {
 protected:
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs yet
  Precompile() { keep_kernels_in(folder_.path().c_str()); }
  ~Precompile() override { unsetenv("WGRAD_CACHE_DIR"); }

  static void keep_kernels_in(const char* folder) { setenv("WGRAD_CACHE_DIR", folder, 1); }
  // NOLINTEND(concurrency-mt-unsafe)

  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  const TemporaryFolder folder_;
};

TEST_F(Precompile, FillsTheDiskCacheOnceForEachKernel) {
  Problem more_tokens = plain();
  more_tokens.tokens = 8192;
  more_tokens.experts = 9;
  const std::vector<Problem> problems = {plain(), more_tokens};
  int calls = 0;
  const auto kernels = precompile(problems, typical_cuda_device(90),
                                  {.progress = [&](const PrecompiledKernel&) { ++calls; }});
  ASSERT_EQ(kernels.size(), 1U) << "tokens and experts are not compiled in";
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(entries(), 1U);
  const PrecompiledKernel& kernel = kernels[0];
  EXPECT_TRUE(std::filesystem::exists(kernel.path)) << kernel.path;
  EXPECT_EQ(kernel.plan.substr(0, 15), "sm90 128x64x32 ");
  EXPECT_EQ(kernel.registers, 168);
  EXPECT_EQ(kernel.spill_bytes, 0);
  EXPECT_EQ(kernel.compiler_remarks, "");
  EXPECT_GT(kernel.smem_bytes, 100000);
  EXPECT_LE(kernel.smem_bytes, 232448);

  const auto again = precompile(problems, typical_cuda_device(90));
  EXPECT_EQ(again.at(0).origin, KernelOrigin::kMemory);
  std::filesystem::remove(kernel.path);
  EXPECT_EQ(precompile(problems, typical_cuda_device(90)).at(0).path, kernel.path)
      << "published again from memory";
  EXPECT_EQ(entries(), 1U);
}

TEST_F(Precompile, CompilesEveryCandidateWhereAsked) {
  Problem p = plain();
  const std::vector<Problem> problems = {p};
  const auto kernels = precompile(problems, typical_cuda_device(90), {.every_candidate = true});
  const auto explained = explain(p, typical_cuda_device(90)).candidates;
  const auto usable = std::count_if(explained.begin(), explained.end(), [](const Candidate& c) {
    return c.backend == "cuda" && c.reasons.empty();
  });
  EXPECT_GT(usable, 2) << "cooperative, pingpong, tokens shared";
  EXPECT_EQ(kernels.size(), static_cast<std::size_t>(usable));
  EXPECT_EQ(entries(), static_cast<std::size_t>(usable));
}

TEST_F(Precompile, RefusesWhatCannotRun) {
  Problem p = plain();
  p.n = 1022;
  const std::vector<Problem> misaligned = {p};
  EXPECT_EQ(
      test::refusal<ValueError>([&] { precompile(misaligned, typical_cuda_device(90)); }),
      "wgrad: n is 1022 (2044 bytes a row of the output); it must be a multiple of 8, unless the "
      "output's rows are padded");
  DeviceSpec ampere = typical_cuda_device(90);
  ampere.arch = 80;
  const std::vector<Problem> problems = {plain()};
  EXPECT_EQ(test::refusal<RuntimeError>([&] { precompile(problems, ampere); }),
            "wgrad: compute capability is 8.0; it must be 9.0 (Hopper), 10.0 (Blackwell), 10.3 "
            "(Blackwell Ultra): SM 8.0 has no kernel yet");
  EXPECT_EQ(entries(), 0U);
}

TEST_F(Precompile, SaysThatNothingWasKeptWhereTheCacheIsOff) {
  keep_kernels_in("");
  Problem p = plain();
  p.accumulate = true;
  const std::vector<Problem> problems = {p};
  const auto kernels = precompile(problems, typical_cuda_device(90));
  EXPECT_EQ(kernels.at(0).path, "");
  EXPECT_EQ(kernels.at(0).origin, KernelOrigin::kCompiled);
  EXPECT_EQ(kernels.at(0).not_kept,
            "wgrad: WGRAD_CACHE_DIR is empty; it must name the folder of compiled kernels");
  const std::string file = (folder_.path() / "file").string();
  std::ofstream(file) << "in the way";
  keep_kernels_in(file.c_str());
  EXPECT_EQ(precompile(problems, typical_cuda_device(90)).at(0).not_kept,
            "wgrad: the kernel cache is " + file +
                "; it must be a folder that can be written: Not a directory");
}

}  // namespace
}  // namespace wgrad
