// wgrad precompile: what it writes, keeps and refuses.
#include <stdlib.h>  // setenv

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/app.hpp"
#include "jit/nvrtc_fixture.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::cli {
namespace {

class PrecompileCommand : public jit::NvrtcTest {
 protected:
  // NOLINTBEGIN(concurrency-mt-unsafe): no other thread runs yet
  PrecompileCommand() { keep_kernels_in(folder_.path().c_str()); }
  ~PrecompileCommand() override { unsetenv("WGRAD_CACHE_DIR"); }

  static void keep_kernels_in(const char* folder) { setenv("WGRAD_CACHE_DIR", folder, 1); }
  // NOLINTEND(concurrency-mt-unsafe)

  /// `precompile` of the kernel that is the quickest to compile.
  int run(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"precompile", "--m",    "512",    "--n",   "1024",
                                          "--counts",   "64,0,9", "--tile", "128,64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    out_.str("");
    err_.str("");
    return run_app(arguments, out_, err_);
  }

  const TemporaryFolder folder_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(PrecompileCommand, FillsTheCacheAndSaysWhatTheKernelTakes) {
  ASSERT_EQ(run({"--json"}), kOk) << err_.str();
  const auto kernels = nlohmann::json::parse(out_.str()).at("kernels");
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].at("origin"), "compiled");
  EXPECT_EQ(kernels[0].at("spill_bytes"), 0);
  EXPECT_GT(kernels[0].at("registers").get<int>(), 0);
  const std::filesystem::path kept = kernels[0].at("path").get<std::string>();
  EXPECT_EQ(kept.parent_path(), folder_.path());
  EXPECT_TRUE(std::filesystem::exists(kept));
  ASSERT_EQ(run({}), kOk) << err_.str();
  EXPECT_NE(out_.str().find("1 kernel; kept in " + folder_.path().string()), std::string::npos)
      << out_.str();
  EXPECT_EQ(out_.str().find("compiled"), std::string::npos) << "a second time\n" << out_.str();
}

TEST_F(PrecompileCommand, RefusesInWordsWhatNoKernelExistsFor) {
  EXPECT_EQ(run({"--device", "sm100", "--cluster", "2,1"}), kCannotRun);
  EXPECT_NE(err_.str().find("cluster_shape_mn is (2, 1) with mma_tiler_mn (128, 64)"),
            std::string::npos)
      << err_.str();
  EXPECT_EQ(run({"--format", "mxfp8-e4m3"}), kBadArgument) << "no tile of 64 columns there";
  EXPECT_NE(err_.str().find("mma_tiler_mn is (128, 64)"), std::string::npos) << err_.str();
  EXPECT_EQ(out_.str(), "");
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path()));
}

TEST_F(PrecompileCommand, CannotRunWithoutAFolderThatTakesKernels) {
  const std::string file = (folder_.path() / "file").string();
  std::ofstream(file) << "in the way";
  const std::string long_name = (folder_.path() / std::string(300, 'x')).string();
  const std::string open_folder = (folder_.path() / "open").string();
  std::filesystem::create_directory(open_folder);
  std::filesystem::permissions(open_folder, std::filesystem::perms::all);
  const std::vector<std::pair<std::string, std::string>> folders = {
      {open_folder, "wgrad: " + open_folder +
                        " is a folder that others may write (mode 777); its owner alone must be "
                        "able to, for it to be used\n"},
      {file, "wgrad: the kernel cache is " + file +
                 "; it must be a folder that can be written: Not a directory\n"},
      {long_name, "wgrad: the kernel cache is " + long_name +
                      "; it must be a folder that can be written: File name too long\n"},
      {"", "wgrad: WGRAD_CACHE_DIR is empty; it must name the folder of compiled kernels\n"},
  };
  for (const auto& [folder, sentence] : folders) {
    keep_kernels_in(folder.c_str());
    EXPECT_EQ(run({}), kCannotRun) << folder;
    EXPECT_EQ(err_.str(), sentence);
    EXPECT_EQ(out_.str(), "");
  }
}

}  // namespace
}  // namespace wgrad::cli
