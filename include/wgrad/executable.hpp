// prepare() once, run() many times, from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "wgrad/device_spec.hpp"
#include "wgrad/operands.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/trace.hpp"

namespace wgrad {

/// Choices that are neither the problem's nor the device's.
struct PrepareOptions {
  std::string backend;  ///< "": the first that supports the problem; else "cpu", "cuda", ...
  bool validate_device_data =
      false;        ///< read offsets and pointers back before each run, as WGRAD_VALIDATE=1 does
                    ///< (synchronises); on a CPU they are always checked
  int device = -1;  ///< CUDA ordinal to make ready now, so that no run on it loads anything; -1:
                    ///< the current device. Runs on other devices of its architecture work as well.
  int candidate = 0;  ///< which of explain()'s usable candidates of the backend: 0 is the planner's
                      ///< choice, others are for timing. Candidates that split the tokens otherwise
                      ///< have other bits
  bool trace = false;  ///< record what each warp does when, into Operands::workspace, which every
                       ///< run must then be given, zeroed; see Executable::timeline(). Not on CPUs.
};

/// A fault in device data that a run met: it computed without touching foreign memory.
struct DeviceFault {
  /// "offsets decrease", "offset is negative", "offset exceeds tokens", "null pointer in
  /// wgrad_ptrs" or "misaligned pointer in wgrad_ptrs".
  /// Block-scaled: "packed FP4 expert begins at an odd token", "scale factors end before the
  /// expert".
  std::string what;
  std::int64_t expert = 0;  ///< the expert concerned, from 0 to E - 1
  std::int64_t value = 0;   ///< the offending offset (tokens) or address
  std::int64_t limit = 0;   ///< the bound it broke: the offset before it, tokens, or the alignment
                            ///< in bytes; 0 where there is none
};

/// A compiled operator: immutable, cheap to copy, safe to run from several threads at once. Moving
/// copies, so that none is ever empty.
class Executable {
 public:
  Executable(const Executable&) = default;
  Executable& operator=(const Executable&) = default;
  Executable(Executable&& other) noexcept { *this = std::as_const(other); }
  Executable& operator=(Executable&& other) noexcept { return *this = std::as_const(other); }
  ~Executable() = default;

  /// Computes on `operands.stream` (CUDA) or before returning (CPU).
  /// Throws ValueError for operands that break the contract, before any work or launch;
  /// RuntimeError where a CUDA call fails, and for a capturing stream when device data is
  /// validated.
  void run(const Operands& operands) const;

  /// First device-data fault since prepare() or the last clear_fault(); nullopt when none was seen.
  /// Waits for nothing: of a run on a GPU that has not ended, it may not be there yet. Always
  /// nullopt on a CPU, where run() throws instead.
  std::optional<DeviceFault> fault() const;
  /// Forgets it, for every copy of this operator. A run that has not ended may leave one
  /// afterwards.
  void clear_fault() const;

  /// Device bytes a caller may hand over as Operands::workspace; at least 1.
  std::int64_t workspace_bytes() const noexcept;
  /// What prepare() was given.
  const Problem& problem() const noexcept;
  /// Of a run prepared with PrepareOptions::trace, from a host copy of its workspace. Throws
  /// ValueError for an operator prepared without it, or too few bytes.
  Timeline timeline(std::span<const std::byte> workspace) const;
  /// "cpu", "cuda", "emu" or "reference"; valid as long as a copy of this operator lives.
  std::string_view backend() const noexcept;
  /// The plan in one line: kernel, tile, stages, ...
  const std::string& plan() const noexcept;

  friend Executable prepare(const Problem& problem, const DeviceSpec& device,
                            const PrepareOptions& options);

 private:
  struct State;
  explicit Executable(std::shared_ptr<const State> state);

  std::shared_ptr<const State> state_;
};

/// Validates, plans and builds. Throws what throw_if_unsupported(check_support(...)) would,
/// ValueError for a candidate that is not there, and RuntimeError when a kernel cannot be compiled
/// or loaded, or the backend keeps no timeline that `trace` asks for.
Executable prepare(const Problem& problem, const DeviceSpec& device,
                   const PrepareOptions& options = {});

}  // namespace wgrad
