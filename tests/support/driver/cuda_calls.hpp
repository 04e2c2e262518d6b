// Driver functions that only tests call. tests/launch/driver_api_test.cpp compares them with
// cuda.h.
#pragma once

#include "launch/driver/driver_api.hpp"

namespace wgrad::test {

struct CudaCalls {
  using Result = launch::CuResult;

  Result (*set_current)(launch::CuContext) = nullptr;
  Result (*stream_create)(launch::CuStream*, unsigned) = nullptr;
  Result (*stream_destroy)(launch::CuStream) = nullptr;
  Result (*stream_begin_capture)(launch::CuStream, int) = nullptr;
  Result (*stream_end_capture)(launch::CuStream, void**) = nullptr;
  Result (*graph_instantiate)(void**, void*, unsigned long long) = nullptr;
  Result (*graph_launch)(void*, launch::CuStream) = nullptr;
  Result (*graph_destroy)(void*) = nullptr;
  Result (*graph_executable_destroy)(void*) = nullptr;
  Result (*event_create)(void**, unsigned) = nullptr;
  Result (*event_destroy)(void*) = nullptr;
  Result (*event_record)(void*, launch::CuStream) = nullptr;
  Result (*event_synchronize)(void*) = nullptr;
  Result (*event_elapsed)(float*, void*, void*) = nullptr;
};

/// Opened at the first call; throws RuntimeError where there is no driver.
const CudaCalls& cuda_calls();

}  // namespace wgrad::test
