#include "jit/nvrtc.hpp"

#include <filesystem>
#include <fstream>

#include "jit/nvrtc_fixture.hpp"
#include "jit/resource_usage.hpp"
#include "jit/temporary_folder.hpp"

namespace wgrad::jit {
namespace {

std::string message_of(const std::vector<std::string>& candidates) {
  try {
    Nvrtc::open(candidates);
  } catch (const RuntimeError& error) {
    return error.what();
  }
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// An NVRTC made of paper: it has a version and remembers the options of a compilation.
struct PaperNvrtc {
  static inline int major = 0, minor = 0;
  static inline std::vector<std::string> options;

  static std::vector<std::string> options_of(int major_version, int minor_version) {
    major = major_version;
    minor = minor_version;
    NvrtcApi api;
    api.version = [](int* to_major, int* to_minor) {
      *to_major = major;
      *to_minor = minor;
      return kNvrtcSuccess;
    };
    api.error_string = [](NvrtcResult) { return "an error"; };
    api.create_program = [](NvrtcProgram*, const char*, const char*, int, const char* const*,
                            const char* const*) { return kNvrtcSuccess; };
    api.destroy_program = [](NvrtcProgram*) { return kNvrtcSuccess; };
    api.compile_program = [](NvrtcProgram, int count, const char* const* values) {
      options.assign(values, values + count);
      return kNvrtcSuccess;
    };
    const auto no_bytes = [](NvrtcProgram, std::size_t* size) {
      *size = 0;
      return kNvrtcSuccess;
    };
    api.get_cubin_size = api.get_log_size = no_bytes;
    api.get_cubin = api.get_log = [](NvrtcProgram, char*) { return kNvrtcSuccess; };
    kernels::KernelSource source;
    source.options = {"-arch=sm_90a"};
    static_cast<void>(Nvrtc(api, "paper").compile(source, {}));
    return options;
  }
};

TEST(Nvrtc, ItsOwnCacheIsAskedForNothing) {
  using Options = std::vector<std::string>;
  EXPECT_EQ(PaperNvrtc::options_of(12, 8), Options{"-arch=sm_90a"}) << "knows no such option";
  EXPECT_EQ(PaperNvrtc::options_of(12, 9), (Options{"-arch=sm_90a", "--no-cache"}));
  EXPECT_EQ(PaperNvrtc::options_of(13, 0), (Options{"-arch=sm_90a", "--no-cache"}));
}

TEST(NvrtcSearch, AVariableOverridesEveryPlace) {
  core::Environment environment;
  environment.nvrtc_library = "/opt/libnvrtc.so";
  environment.cuda_home = "/opt/cuda";
  EXPECT_EQ(nvrtc_candidates(environment, {"/wheel"}),
            std::vector<std::string>{"/opt/libnvrtc.so"});
}

TEST(NvrtcSearch, LooksInTheLoadersPathTheToolkitsAndTheWheel) {
  const TemporaryFolder folder;
  const auto make = [&](const std::string& name) {
    const auto path = folder.path() / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "library";
    return path.string();
  };
  const std::string home = make("home/lib64/libnvrtc.so.12");
  const std::string older = make("root/cuda-9.0/lib64/libnvrtc.so.9");
  const std::string newer = make("root/cuda-13.0/lib64/libnvrtc.so.13");
  const std::string wheel = make("wheel/lib/libnvrtc.so.13");
  make("wheel/lib/libnvrtc-builtins.so.13.0");
  make("wheel/lib/libnvrtc.so.13.txt");
  core::Environment environment;
  environment.cuda_home = (folder.path() / "home").string();
  EXPECT_EQ(nvrtc_candidates(environment, {(folder.path() / "wheel/lib").string()},
                             (folder.path() / "root").string()),
            (std::vector<std::string>{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", home,
                                      newer, older, wheel}));
}

TEST(NvrtcOpen, SaysWhatIsMissingWhereItLookedAndWhatToInstall) {
  const std::string message = message_of({"/nowhere/libnvrtc.so.13", "libnvrtc-of-nobody.so"});
  EXPECT_TRUE(has(message, "no usable NVRTC")) << message;
  EXPECT_TRUE(has(message, "pip install nvidia-cuda-nvrtc")) << message;
  EXPECT_TRUE(has(message, "WGRAD_NVRTC")) << message;
  EXPECT_TRUE(has(message, "/nowhere/libnvrtc.so.13")) << message;
  EXPECT_TRUE(has(message, "libnvrtc-of-nobody.so")) << message;
}

TEST(NvrtcOpen, RefusesALibraryThatIsNotNvrtc) {
  EXPECT_TRUE(has(message_of({"libc.so.6"}), "libc.so.6 (lacks NVRTC's functions)"));
}

class RealNvrtc : public NvrtcTest {};

TEST_F(RealNvrtc, CompilesWithTheEmbeddedHeaders) {
  const Cubin cubin = Nvrtc::instance().compile(small_kernel(3), device_headers());
  EXPECT_EQ(cubin.bytes.substr(0, 4),
            "\x7f"
            "ELF");
  const auto usage = resource_usage(cubin.log);
  ASSERT_TRUE(usage) << cubin.log;
  EXPECT_GT(usage->registers, 0);
  EXPECT_EQ(usage->spill_bytes, 0);
  EXPECT_EQ(usage->warnings, "");
}

TEST_F(RealNvrtc, ReportsSpills) {
  auto source = small_kernel(1);
  source.text =
      "extern \"C\" __global__ void scale(float* x) { float v[64]; for (int i = 0; i < 64; ++i) "
      "v[i] "
      "= x[i * threadIdx.x]; for (int i = 0; i < 64; ++i) x[i * 64] = v[i] * v[63 - i]; }";
  source.options.emplace_back("--maxrregcount=16");
  const auto usage = resource_usage(Nvrtc::instance().compile(source, {}).log);
  ASSERT_TRUE(usage);
  EXPECT_GT(usage->spill_bytes, 0);
}

TEST_F(RealNvrtc, SaysWhatDoesNotCompile) {
  auto source = small_kernel(1);
  source.text = "extern \"C\" __global__ void scale() { no_such_function(); }";
  try {
    Nvrtc::instance().compile(source, device_headers());
    FAIL() << "it compiled";
  } catch (const RuntimeError& error) {
    EXPECT_TRUE(has(error.what(), "could not compile scale by 1")) << error.what();
    EXPECT_TRUE(has(error.what(), "no_such_function")) << error.what();
  }
}

TEST(DeviceHeaders, AreAllEmbeddedAndNoEmulatedMachine) {
  std::size_t kernels = 0;
  for (const DeviceHeader& header : device_headers()) {
    EXPECT_FALSE(has(header.name, "/emu/")) << header.name;
    EXPECT_FALSE(std::string(header.text).empty()) << header.name;
    kernels += has(header.name, "wgrad/sm90/");
  }
  EXPECT_GT(kernels, 0U);
}

}  // namespace
}  // namespace wgrad::jit
