// The emulated machine's front door: run one launch of a device kernel under an adversary's
// schedule.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "emu/fault.hpp"
#include "emu/memory/global_memory.hpp"

namespace wgrad::emu {

/// A named piece of a CTA's dynamic shared memory, so that reports can say "b stage 2".
struct SharedRegion {
  std::string name;
  std::uint32_t offset = 0;  ///< bytes from shared_base()
  std::uint32_t element_bytes = 0;
  std::uint32_t elements = 0;
};

struct Launch {
  std::function<void()> kernel;    ///< what every device thread runs
  std::uint32_t ctas = 1;          ///< a multiple of cluster_size
  std::uint32_t cluster_size = 1;  ///< 1 to 8
  std::uint32_t threads = 128;     ///< of a CTA, a multiple of 32
  std::uint32_t shared_bytes = 0;
  std::uint32_t registers = 168;    ///< of a thread at entry (launch bounds)
  std::uint32_t resident_ctas = 4;  ///< SMs: CTAs that run at once
  /// May begin once every CTA of the launch before it in the stream has called launch_dependents()
  /// or ended. A thread may use global memory only after its grid_dependency_wait().
  bool programmatic = false;
  std::vector<SharedRegion> regions;
};

enum class Timing : std::uint8_t {
  kMixed,  ///< each asynchronous step at once, later, or only when nothing else can run, as the
           ///< seed says
  kEager,  ///< at once
  kLazy,   ///< only when nothing else can run
  kModel,  ///< in the order of a modelled time (time_model.hpp): one order, with timestamps
};

struct Adversary {
  std::uint64_t seed = 1;
  Timing timing = Timing::kMixed;
  std::uint64_t step_limit = 200'000'000;  ///< fiber switches before kEndless is reported
};

/// Runs the launch to its end or to its first fault. Throws only for a Launch no GPU would accept
/// (FaultError).
Outcome run(const Launch& launch, GlobalMemory& memory, const Adversary& adversary);

/// Launches one after the other, as a stream orders them; programmatic ones may overlap the one
/// before them.
Outcome run(std::span<const Launch> stream, GlobalMemory& memory, const Adversary& adversary);

}  // namespace wgrad::emu
