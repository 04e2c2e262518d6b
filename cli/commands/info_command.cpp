#include "cli/commands/info_command.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "harness/place.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/explain.hpp"
#include "wgrad/support.hpp"
#include "wgrad/toolchain.hpp"

namespace wgrad::cli {
namespace {

struct CudaAnswer {
  std::vector<DeviceSpec> devices;
  std::string why_none;
};

CudaAnswer ask_cuda() {
  CudaAnswer answer;
  try {
    const int count = cuda_device_count();
    for (int ordinal = 0; ordinal < count; ++ordinal)
      answer.devices.push_back(cuda_device(ordinal));
    if (count == 0) cuda_device(0);  // throws, saying why there is none
  } catch (const std::exception& e) {
    answer.why_none = e.what();
  }
  return answer;
}

Problem small_problem() {
  Problem p;
  p.experts = 1;
  p.m = p.n = p.tokens = 128;
  return p;
}

bool emulates_a_gpu() {
  return static_cast<bool>(check_support(small_problem(), harness::emulated_device(0), "emu"));
}

/// Names of the backends that would compute a small problem on `device`, unasked or on request.
std::vector<std::string> backends_on(const DeviceSpec& device, bool on_request) {
  std::vector<std::string> names;
  for (const Candidate& c : explain(small_problem(), device).candidates) {
    const bool repeated = !names.empty() && names.back() == c.backend;
    if (c.reasons.empty() && c.on_request == on_request && !repeated) names.push_back(c.backend);
  }
  return names;
}

nlohmann::json cuda_json(const DeviceSpec& d) {
  return {{"name", d.name},
          {"arch", d.arch},
          {"sm_count", d.sm_count},
          {"smem_bytes", d.smem_bytes},
          {"l2_bytes", d.l2_bytes}};
}

void print_json(const DeviceSpec& cpu, const CudaAnswer& cuda, std::ostream& out) {
  const Toolchain tools = find_toolchain();
  nlohmann::json document = {{"version", WGRAD_VERSION},
                             {"cpu",
                              {{"name", cpu.name},
                               {"threads", cpu.threads},
                               {"avx512_bf16", cpu.avx512_bf16},
                               {"amx_bf16", cpu.amx_bf16},
                               {"backends", backends_on(cpu, false)},
                               {"backends_on_request", backends_on(cpu, true)},
                               {"onednn", tools.onednn},
                               {"onednn_compiled", tools.onednn_compiled},
                               {"onednn_isa", tools.onednn_isa}}},
                             {"emulated_gpu", emulates_a_gpu()},
                             {"cuda", {{"devices", nlohmann::json::array()}}}};
  for (const DeviceSpec& d : cuda.devices) document["cuda"]["devices"].push_back(cuda_json(d));
  if (!cuda.why_none.empty()) document["cuda"]["why_none"] = cuda.why_none;
  document["cuda"]["driver"] = tools.driver;
  document["cuda"]["nvrtc"] = tools.nvrtc;
  document["cuda"]["nvrtc_file"] = tools.nvrtc_file;
  document["cuda"]["nvrtc_missing"] = tools.nvrtc_missing;
  document["cuda"]["cache_directory"] = tools.cache_directory;
  document["cuda"]["cache_not_used"] = tools.cache_not_used;
  out << document.dump(2) << '\n';
}

const char* yes_no(bool value) {
  return value ? "yes" : "no";
}

std::string onednn_text(const Toolchain& tools) {
  if (tools.onednn.empty()) return "none: this build has no CPU backend";
  return fmt::format("{} (compiled with {}), {}", tools.onednn, tools.onednn_compiled,
                     tools.onednn_isa);
}

std::string cache_text(const Toolchain& tools) {
  if (!tools.cache_not_used.empty()) return "memory only: " + tools.cache_not_used;
  return tools.cache_directory.empty() ? "memory only" : tools.cache_directory;
}

void print_text(const DeviceSpec& cpu, const CudaAnswer& cuda, std::ostream& out) {
  const Toolchain tools = find_toolchain();
  out << fmt::format(
      "wgrad         {}\ncpu           {}\n  threads     {}\n  AVX-512 BF16 {}\n  AMX BF16     {}\n"
      "  oneDNN      {}\n  backends    {} (on request: {})\n",
      WGRAD_VERSION, cpu.name, cpu.threads, yes_no(cpu.avx512_bf16), yes_no(cpu.amx_bf16),
      onednn_text(tools), fmt::join(backends_on(cpu, false), ", "),
      fmt::join(backends_on(cpu, true), ", "));
  out << fmt::format("emulated GPU  {}\n", yes_no(emulates_a_gpu()));
  if (!cuda.why_none.empty()) out << "cuda          none: " << cuda.why_none << '\n';
  for (std::size_t i = 0; i < cuda.devices.size(); ++i) {
    const DeviceSpec& d = cuda.devices[i];
    out << fmt::format("cuda {}        {}: sm{}, {} SMs, {} KiB shared memory, {} MiB L2\n", i,
                       d.name, d.arch, d.sm_count, d.smem_bytes / 1024, d.l2_bytes >> 20);
  }
  out << fmt::format(
      "  driver      {}\n  nvrtc       {}\n  kernels in  {}\n",
      tools.driver.empty() ? "none: " + tools.driver_missing : tools.driver,
      tools.nvrtc.empty() ? "none: " + tools.nvrtc_missing : tools.nvrtc + " " + tools.nvrtc_file,
      cache_text(tools));
}

}  // namespace

void add_info_command(CLI::App& app, std::function<int()>& command, std::ostream& out) {
  const auto json = std::make_shared<bool>(false);
  CLI::App* sub = app.add_subcommand("info", "Show what this machine offers");
  sub->add_flag("--json", *json, "JSON instead of text");
  sub->callback([&command, json, &out] {
    command = [json, &out] {
      const DeviceSpec cpu = cpu_device();
      const CudaAnswer cuda = ask_cuda();
      *json ? print_json(cpu, cuda, out) : print_text(cpu, cuda, out);
      return kOk;
    };
  });
}

}  // namespace wgrad::cli
