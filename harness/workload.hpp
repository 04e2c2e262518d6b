// One problem with random data, ready to run and to check.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "harness/memory/device.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"

namespace wgrad::harness {

/// Owns the data of one run, mirrors included. Outputs start as NaN where the run overwrites, and
/// as random numbers where it accumulates; scale padding holds e8m0 NaN.
class Workload {
 public:
  Workload(const Problem& problem, std::span<const std::int64_t> counts, std::uint64_t seed,
           int threads, std::shared_ptr<Device> device);
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;
  ~Workload() = default;

  const Problem& problem() const { return problem_; }
  /// What the backend gets: addresses in its own memory.
  const Operands& device_operands() const { return device_; }
  /// The same inputs in host memory, for the oracle; no outputs.
  const Operands& host_operands() const { return host_; }

  std::int64_t begin(std::int64_t expert) const;
  std::int64_t end(std::int64_t expert) const { return offsets_[std::size_t(expert)]; }

  /// Brings the outputs back from the backend's memory.
  void fetch_outputs();
  /// Wgrad[expert], (M, N) packed, as fetched last.
  const std::byte* output(std::int64_t expert) const;
  /// Wgrad[expert][i][j] before any run, where the problem accumulates.
  double initial(std::int64_t expert, std::int64_t i, std::int64_t j) const;

 private:
  void make_inputs(std::uint64_t seed, int threads);
  void make_quantized(std::uint64_t seed, int threads);
  void make_quantized_by_rows(std::uint64_t seed, int threads);
  void make_global_scales();
  void make_outputs(std::uint64_t seed, int threads);
  void mirror_inputs();
  void* mirror(std::span<std::byte> host);

  using Array = std::vector<std::byte>;
  Problem problem_;
  std::vector<std::int32_t> offsets_;
  std::shared_ptr<Device> device_memory_;
  Array a_, b_, sfa_, sfb_;
  std::vector<float> global_a_, global_b_;
  std::vector<Array> outputs_;  // one (dense) or E (discrete)
  std::vector<std::int64_t> pointers_;
  std::vector<Mirror> inputs_on_device_;
  std::vector<Mirror> outputs_on_device_;
  std::uint64_t output_seed_ = 0;
  Operands host_;
  Operands device_;
};

}  // namespace wgrad::harness
