// What can go wrong on the emulated machine: always a value, never a crash.
#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "emu/time_model.hpp"

namespace wgrad::emu {

enum class FaultKind : std::uint8_t {
  kRace,           ///< two accesses, one of them a write, that nothing orders
  kProxy,          ///< ordered, but no proxy fence between ordinary and asynchronous accesses
  kFence,          ///< tensor memory handed on by a barrier without tcgen05.fence around it
  kUninitialised,  ///< bytes read that nothing wrote
  kDeadlock,       ///< every thread waits
  kOutOfBounds,    ///< an address outside every registered allocation, or outside shared memory
  kMisaligned,     ///< an address the hardware traps on
  kIllegal,        ///< an instruction used as the hardware forbids
  kEndless,        ///< the step limit was reached
};

const char* name(FaultKind kind) noexcept;

struct Fault {
  FaultKind kind = FaultKind::kIllegal;
  std::string message;  ///< what happened, to which bytes or barrier
  std::string where;    ///< "CTA 0 warp 4 lane 0", or empty for the machine itself

  std::string text() const;
};

/// Carries a fault out of a device thread; never leaves emu::run().
class FaultError : public std::runtime_error {
 public:
  FaultError(FaultKind kind, const std::string& message)
      : std::runtime_error(message), kind_(kind) {}
  FaultKind kind() const noexcept { return kind_; }

 private:
  FaultKind kind_;
};

struct Stats {
  std::uint64_t threads = 0;     ///< fibers that ran to their end
  std::uint64_t switches = 0;    ///< times a fiber was resumed
  std::uint64_t loads = 0;       ///< tensor and bulk loads
  std::uint64_t stores = 0;      ///< tensor stores and reduce-adds
  std::uint64_t wgmmas = 0;      ///< warpgroup multiplications
  std::uint64_t tcgen05s = 0;    ///< multiplications of tcgen05
  std::uint64_t prefetches = 0;  ///< L2 prefetches
};

/// How one launch ended.
struct Outcome {
  std::optional<Fault> fault;
  Stats stats;
  std::vector<EngineSpan> spans;  ///< where the machine kept time
};

}  // namespace wgrad::emu
