// Streams, events and graphs of a CUDA device, for tests on a GPU.
#pragma once

namespace wgrad::test {

/// A stream of CUDA device `ordinal`; gone at the end of the scope.
class CudaStream {
 public:
  explicit CudaStream(int ordinal);
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream();

  void* handle() const { return stream_; }
  void synchronize() const;

 private:
  int ordinal_;
  void* stream_ = nullptr;
};

/// A point on a stream.
class CudaEvent {
 public:
  explicit CudaEvent(int ordinal);
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent();

  void record(const CudaStream& stream);
  void synchronize() const;
  /// Milliseconds from `earlier` to this, both passed.
  float since(const CudaEvent& earlier) const;

 private:
  int ordinal_;
  void* event_ = nullptr;
};

/// What was launched on a stream between begin and end, to be launched again.
class CudaGraph {
 public:
  CudaGraph(int ordinal, const CudaStream& stream) : ordinal_(ordinal), stream_(stream) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph();

  void begin_capture();
  void end_capture();
  void replay();

 private:
  int ordinal_;
  const CudaStream& stream_;
  void* graph_ = nullptr;
  void* executable_ = nullptr;
};

/// Ordinal of the device whose context is current on this thread; -1 where none is.
int current_cuda_device();
/// Makes the primary context of `ordinal` current on this thread.
void set_current_cuda_device(int ordinal);

}  // namespace wgrad::test
