// Kernels that are wrong on purpose, on the memory that the suites use: what compute-sanitizer does
// not report of these, it would not report of wgrad's kernels. tools/gpu_check runs every one.
//   sanitizer_controls           prints a line "TOOL KERNEL STATUS" for each
//   (sanitizer_kernels.hpp) sanitizer_controls KERNEL    runs it on CUDA device 0
// Exit status: 0 it ran, 2 no such kernel, 3 CUDA or NVRTC refused, 77 no CUDA device.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/memory/cuda_device.hpp"
#include "jit/device_headers.hpp"
#include "jit/nvrtc.hpp"
#include "launch/driver/current_context.hpp"
#include "launch/driver/driver.hpp"
#include "launch/sanitizer_kernels.hpp"
#include "launch/tensor_maps.hpp"
#include "support/harness.hpp"

namespace {

using namespace wgrad;

launch::CuAddress address(const test::Buffer& buffer) {
  return reinterpret_cast<launch::CuAddress>(buffer.data());
}

void run(const std::string& name, const std::shared_ptr<test::Device>& memory) {
  launch::Runtime& runtime = launch::Runtime::instance();
  const launch::DriverApi& api = runtime.api();
  const launch::CurrentContext current(runtime, 0);
  const jit::Cubin cubin = jit::Nvrtc::instance().compile(
      test::sanitizer_kernels(runtime.device_spec(0).arch), jit::device_headers());
  launch::CuLibrary library = nullptr;
  launch::CuKernel kernel = nullptr;
  check(
      api,
      api.library_load_data(&library, cubin.bytes.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      "loading the kernels");
  check(api, api.library_get_kernel(&kernel, library, name.c_str()), name);

  test::Buffer in(memory, test::kSanitizerBytes);
  const test::Buffer out(memory, test::kSanitizerBytes);
  if (!name.ends_with("_before_a_write"))
    in.upload(std::vector<std::uint8_t>(test::kSanitizerBytes, 1));
  in.protect();
  shared::TensorMap map = launch::encode(
      api,
      shared::operand_map(shared::OperandLayout::kKMajor, shared::MapElement::kBf16,
                          {.rows = test::kSanitizerRows, .tokens = test::kSanitizerTokens},
                          2 * test::kSanitizerRows, test::kSanitizerTokens, test::kSanitizerTokens),
      address(in));
  launch::CuAddress from = address(in), to = address(out);
  void* parameters[] = {&map, &from, &to};
  launch::CuLaunchConfig config;
  config.block[0] = test::kSanitizerThreads;
  config.shared_bytes = test::kSanitizerSharedBytes;
  check(
      api,
      api.launch_kernel(&config, reinterpret_cast<launch::CuFunction>(kernel), parameters, nullptr),
      "the launch");
  check(api, api.stream_synchronize(nullptr), "the kernel");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) {
    for (const test::SanitizerControl& c : test::sanitizer_controls())
      fmt::print("{} {} {}\n", c.tool, c.kernel, c.status);
    return 0;
  }
  try {
    const std::string_view name = argv[1];
    const auto known = test::sanitizer_controls();
    if (std::none_of(known.begin(), known.end(), [&](const auto& c) { return name == c.kernel; })) {
      return fmt::print(stderr, "no kernel '{}'\n", name), 2;
    }
    if (cuda_device_count() == 0) return fmt::print("no CUDA device\n"), 77;
    const auto memory = test::cuda_memory(0);
    run(std::string(name), memory);
    return 0;
  } catch (const std::exception& error) {
    return fmt::print(stderr, "{}\n", error.what()), 3;
  }
}
