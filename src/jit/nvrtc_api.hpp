// The few NVRTC functions that wgrad calls, declared here so that building needs no CUDA toolkit.
// tests/jit/nvrtc_api_test.cpp compares them with nvrtc.h where one is installed.
#pragma once

#include <cstddef>

namespace wgrad::jit {

using NvrtcResult = int;
struct NvrtcProgramObject;
using NvrtcProgram = NvrtcProgramObject*;

constexpr NvrtcResult kNvrtcSuccess = 0;

struct NvrtcApi {
  NvrtcResult (*version)(int* major, int* minor) = nullptr;
  const char* (*error_string)(NvrtcResult) = nullptr;
  NvrtcResult (*create_program)(NvrtcProgram*, const char* text, const char* name, int headers,
                                const char* const* header_texts,
                                const char* const* header_names) = nullptr;
  NvrtcResult (*destroy_program)(NvrtcProgram*) = nullptr;
  NvrtcResult (*compile_program)(NvrtcProgram, int options, const char* const*) = nullptr;
  NvrtcResult (*get_cubin_size)(NvrtcProgram, std::size_t*) = nullptr;
  NvrtcResult (*get_cubin)(NvrtcProgram, char*) = nullptr;
  NvrtcResult (*get_log_size)(NvrtcProgram, std::size_t*) = nullptr;
  NvrtcResult (*get_log)(NvrtcProgram, char*) = nullptr;
};

}  // namespace wgrad::jit
