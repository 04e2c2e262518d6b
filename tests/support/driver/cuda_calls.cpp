#include "support/driver/cuda_calls.hpp"

#include <string>

#include "core/shared_library.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::test {
namespace {

CudaCalls open_calls() {
  const auto library = core::SharedLibrary::open("libcuda.so.1");
  if (!library) throw RuntimeError("no NVIDIA driver");
  CudaCalls calls;
  const auto bind = [&]<typename Function>(Function*& function, const char* name) {
    function = library->find<Function>(name);
    if (function == nullptr) throw RuntimeError(std::string("the NVIDIA driver lacks ") + name);
  };
  bind(calls.set_current, "cuCtxSetCurrent");
  bind(calls.stream_create, "cuStreamCreate");
  bind(calls.stream_destroy, "cuStreamDestroy_v2");
  bind(calls.stream_begin_capture, "cuStreamBeginCapture_v2");
  bind(calls.stream_end_capture, "cuStreamEndCapture");
  bind(calls.graph_instantiate, "cuGraphInstantiateWithFlags");
  bind(calls.graph_launch, "cuGraphLaunch");
  bind(calls.graph_destroy, "cuGraphDestroy");
  bind(calls.graph_executable_destroy, "cuGraphExecDestroy");
  bind(calls.event_create, "cuEventCreate");
  bind(calls.event_destroy, "cuEventDestroy_v2");
  bind(calls.event_record, "cuEventRecord");
  bind(calls.event_synchronize, "cuEventSynchronize");
  // cuEventElapsedTime_v2 is younger than the oldest driver that wgrad takes.
  bind(calls.event_elapsed, "cuEventElapsedTime");
  return calls;
}

}  // namespace

const CudaCalls& cuda_calls() {
  static const CudaCalls kCalls = open_calls();
  return kCalls;
}

}  // namespace wgrad::test
