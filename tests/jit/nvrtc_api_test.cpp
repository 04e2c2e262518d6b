// Our declarations of NVRTC against nvrtc.h, where a toolkit is installed.
#include "jit/nvrtc_api.hpp"

#include <gtest/gtest.h>

#if __has_include(<nvrtc.h>)
#include <nvrtc.h>

#include <type_traits>

namespace wgrad::jit {
namespace {

/// Same number of parameters, same sizes, pointers where pointers are.
template <typename Ours, typename Theirs>
struct SameCall : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
struct SameCall<R1 (*)(A1...), R2 (*)(A2...)> : std::false_type {};
template <typename R1, typename... A1, typename R2, typename... A2>
requires(sizeof...(A1) == sizeof...(A2)) struct SameCall<R1 (*)(A1...), R2 (*)(A2...)>
    : std::bool_constant<sizeof(R1) == sizeof(R2) &&
                         ((sizeof(A1) == sizeof(A2) &&
                           std::is_pointer_v<A1> == std::is_pointer_v<A2>)&&...)> {
};

static_assert(kNvrtcSuccess == NVRTC_SUCCESS);
static_assert(SameCall<decltype(NvrtcApi::version), decltype(&nvrtcVersion)>::value);
static_assert(SameCall<decltype(NvrtcApi::error_string), decltype(&nvrtcGetErrorString)>::value);
static_assert(SameCall<decltype(NvrtcApi::create_program), decltype(&nvrtcCreateProgram)>::value);
static_assert(SameCall<decltype(NvrtcApi::destroy_program), decltype(&nvrtcDestroyProgram)>::value);
static_assert(SameCall<decltype(NvrtcApi::compile_program), decltype(&nvrtcCompileProgram)>::value);
static_assert(SameCall<decltype(NvrtcApi::get_cubin_size), decltype(&nvrtcGetCUBINSize)>::value);
static_assert(SameCall<decltype(NvrtcApi::get_cubin), decltype(&nvrtcGetCUBIN)>::value);
static_assert(SameCall<decltype(NvrtcApi::get_log_size), decltype(&nvrtcGetProgramLogSize)>::value);
static_assert(SameCall<decltype(NvrtcApi::get_log), decltype(&nvrtcGetProgramLog)>::value);

TEST(NvrtcApi, MatchesTheToolkitsHeader) {
  SUCCEED() << "checked while compiling";
}

}  // namespace
}  // namespace wgrad::jit
#else
TEST(NvrtcApi, MatchesTheToolkitsHeader) {
  GTEST_SKIP() << "no nvrtc.h on this machine";
}
#endif
