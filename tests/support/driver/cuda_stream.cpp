#include "support/driver/cuda_stream.hpp"

#include "launch/driver/current_context.hpp"
#include "launch/driver/driver.hpp"
#include "launch/driver/runtime.hpp"
#include "support/driver/cuda_calls.hpp"

namespace wgrad::test {
namespace {

using launch::CurrentContext;
using launch::CuStream;

constexpr unsigned kNonBlocking = 1;
constexpr int kThreadLocalCapture = 1;

launch::Runtime& runtime() {
  return launch::Runtime::instance();
}

void check(launch::CuResult result, const char* what) {
  launch::check(runtime().api(), result, what);
}

CuStream raw(const CudaStream& stream) {
  return static_cast<CuStream>(stream.handle());
}

}  // namespace

CudaStream::CudaStream(int ordinal) : ordinal_(ordinal) {
  const CurrentContext current(runtime(), ordinal_);
  CuStream stream = nullptr;
  check(cuda_calls().stream_create(&stream, kNonBlocking), "cuStreamCreate");
  stream_ = stream;
}

CudaStream::~CudaStream() {
  const CurrentContext current(runtime(), ordinal_);
  cuda_calls().stream_destroy(raw(*this));
}

void CudaStream::synchronize() const {
  const CurrentContext current(runtime(), ordinal_);
  check(runtime().api().stream_synchronize(raw(*this)), "cuStreamSynchronize");
}

CudaEvent::CudaEvent(int ordinal) : ordinal_(ordinal) {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().event_create(&event_, 0), "cuEventCreate");
}

CudaEvent::~CudaEvent() {
  const CurrentContext current(runtime(), ordinal_);
  cuda_calls().event_destroy(event_);
}

void CudaEvent::record(const CudaStream& stream) {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().event_record(event_, raw(stream)), "cuEventRecord");
}

void CudaEvent::synchronize() const {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().event_synchronize(event_), "cuEventSynchronize");
}

float CudaEvent::since(const CudaEvent& earlier) const {
  const CurrentContext current(runtime(), ordinal_);
  float ms = 0;
  check(cuda_calls().event_elapsed(&ms, earlier.event_, event_), "cuEventElapsedTime");
  return ms;
}

void CudaGraph::begin_capture() {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().stream_begin_capture(raw(stream_), kThreadLocalCapture),
        "cuStreamBeginCapture");
}

void CudaGraph::end_capture() {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().stream_end_capture(raw(stream_), &graph_), "cuStreamEndCapture");
  check(cuda_calls().graph_instantiate(&executable_, graph_, 0), "cuGraphInstantiate");
}

void CudaGraph::replay() {
  const CurrentContext current(runtime(), ordinal_);
  check(cuda_calls().graph_launch(executable_, raw(stream_)), "cuGraphLaunch");
}

CudaGraph::~CudaGraph() {
  const CurrentContext current(runtime(), ordinal_);
  if (executable_ != nullptr) cuda_calls().graph_executable_destroy(executable_);
  if (graph_ != nullptr) cuda_calls().graph_destroy(graph_);
}

int current_cuda_device() {
  return launch::current_device(runtime().api());
}

void set_current_cuda_device(int ordinal) {
  check(cuda_calls().set_current(runtime().primary_context(ordinal)), "cuCtxSetCurrent");
}

}  // namespace wgrad::test
