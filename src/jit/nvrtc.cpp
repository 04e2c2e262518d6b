#include "jit/nvrtc.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "core/environment.hpp"
#include "core/log.hpp"
#include "core/shared_library.hpp"
#include "jit/nvrtc_search.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::jit {
namespace {

constexpr int kOldestMajor = 12;  // the first with sm_90a and C++20

std::optional<NvrtcApi> api_of(const core::SharedLibrary& library) {
  NvrtcApi api;
  bool complete = true;
  const auto bind = [&]<typename Function>(Function*& function, const char* name) {
    function = library.find<Function>(name);
    complete = complete && function != nullptr;
  };
  bind(api.version, "nvrtcVersion");
  bind(api.error_string, "nvrtcGetErrorString");
  bind(api.create_program, "nvrtcCreateProgram");
  bind(api.destroy_program, "nvrtcDestroyProgram");
  bind(api.compile_program, "nvrtcCompileProgram");
  bind(api.get_cubin_size, "nvrtcGetCUBINSize");
  bind(api.get_cubin, "nvrtcGetCUBIN");
  bind(api.get_log_size, "nvrtcGetProgramLogSize");
  bind(api.get_log, "nvrtcGetProgramLog");
  return complete ? std::optional(api) : std::nullopt;
}

std::string not_found(const std::vector<std::string>& tried) {
  return fmt::format(
      "wgrad: no usable NVRTC (CUDA's run-time compiler, version {} or later) was found, so no "
      "kernel can be compiled: install it (pip install nvidia-cuda-nvrtc, or a CUDA toolkit) or "
      "set "
      "WGRAD_NVRTC to the path of libnvrtc.so; looked at: {}",
      kOldestMajor, fmt::join(tried, "; "));
}

struct Program {
  const NvrtcApi& api;
  NvrtcProgram handle = nullptr;

  explicit Program(const NvrtcApi& a) : api(a) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() {
    if (handle != nullptr) api.destroy_program(&handle);
  }
};

void check(const NvrtcApi& api, NvrtcResult result, const char* what) {
  if (result == kNvrtcSuccess) return;
  throw RuntimeError(fmt::format("wgrad: NVRTC could not {}: {}", what, api.error_string(result)));
}

std::string log_of(const Program& program) {
  std::size_t size = 0;
  if (program.api.get_log_size(program.handle, &size) != kNvrtcSuccess || size < 2) return "";
  std::string log(size, '\0');
  program.api.get_log(program.handle, log.data());
  std::erase(log, '\0');  // one ends it, and some versions end each part with one
  return log;
}

void create(Program& program, const kernels::KernelSource& source,
            std::span<const DeviceHeader> headers) {
  std::vector<const char*> texts;
  std::vector<const char*> names;
  for (const DeviceHeader& header : headers) {
    texts.push_back(header.text);
    names.push_back(header.name);
  }
  const std::string file = source.entry + ".cu";
  check(program.api,
        program.api.create_program(&program.handle, source.text.c_str(), file.c_str(),
                                   static_cast<int>(headers.size()), texts.data(), names.data()),
        "create a program");
}

/// nullopt, and a line in `tried`, where `candidate` will not do.
std::optional<Nvrtc> try_open(const std::string& candidate, std::vector<std::string>& tried) {
  std::string why;
  const auto library = core::SharedLibrary::open(candidate, &why);
  if (!library) {
    tried.push_back(candidate.find('/') != std::string::npos ? why : candidate);
    return std::nullopt;
  }
  const auto api = api_of(*library);
  if (!api) {
    tried.push_back(candidate + " (lacks NVRTC's functions)");
    return std::nullopt;
  }
  Nvrtc nvrtc(*api, core::SharedLibrary::file_of(reinterpret_cast<const void*>(api->version)));
  if (std::stoi(nvrtc.version()) >= kOldestMajor) return nvrtc;
  tried.push_back(fmt::format("{} (version {})", candidate, nvrtc.version()));
  return std::nullopt;
}

}  // namespace

Nvrtc::Nvrtc(const NvrtcApi& api, std::string file) : api_(api), file_(std::move(file)) {
  int major = 0;
  int minor = 0;
  check(api_, api_.version(&major, &minor), "say its version");
  version_ = fmt::format("{}.{}", major, minor);
  has_cache_ = major > 12 || (major == 12 && minor >= 9);
}

Nvrtc Nvrtc::open(const std::vector<std::string>& candidates) {
  std::vector<std::string> tried;
  for (const std::string& candidate : candidates) {
    if (auto nvrtc = try_open(candidate, tried)) return *std::move(nvrtc);
  }
  throw RuntimeError(not_found(tried));
}

const Nvrtc& Nvrtc::instance() {
  static std::mutex mutex;
  static std::unique_ptr<const Nvrtc> found;
  const std::lock_guard lock(mutex);
  if (found == nullptr) {
    found = std::make_unique<const Nvrtc>(
        open(nvrtc_candidates(core::read_environment(), added_nvrtc_folders())));
    core::log(1, fmt::format("NVRTC {} from {}", found->version(), found->file()));
  }
  return *found;
}

Cubin Nvrtc::compile(const kernels::KernelSource& source,
                     std::span<const DeviceHeader> headers) const {
  Program program(api_);
  create(program, source, headers);
  std::vector<const char*> options;
  for (const std::string& option : source.options) options.push_back(option.c_str());
  // What NVRTC takes from a cache of its own comes without the assembler's log: no registers, no
  // spills, no complaints. (docs/notes/2026-11-30-nvrtc-has-a-cache-of-its-own.md)
  if (has_cache_) options.push_back("--no-cache");
  const NvrtcResult result =
      api_.compile_program(program.handle, static_cast<int>(options.size()), options.data());
  Cubin cubin;
  cubin.log = log_of(program);
  if (result != kNvrtcSuccess) {
    throw RuntimeError(fmt::format("wgrad: NVRTC {} could not compile {} ({}):\n{}", version_,
                                   source.name, api_.error_string(result), cubin.log));
  }
  std::size_t size = 0;
  check(api_, api_.get_cubin_size(program.handle, &size), "say the size of the machine code");
  cubin.bytes.resize(size);
  check(api_, api_.get_cubin(program.handle, cubin.bytes.data()), "hand over the machine code");
  return cubin;
}

}  // namespace wgrad::jit
