// Which counter of a loaded kernel a launch claims its tiles from. Launches that may run at the
// same time must not share one: those of one stream run one after another, and so do replays of one
// captured launch.
#pragma once

#include <mutex>
#include <unordered_map>

#include "launch/driver/driver_api.hpp"

namespace wgrad::launch {

class ClaimSlots {
 public:
  static constexpr int kNone = -1;
  /// The first streams to launch get one each; the others are for captured launches.
  static constexpr int kStreams = 1024;

  /// A slot in [0, shared::kClaimSlots); kNone where they are used up, or the driver does not name
  /// the stream. The same for every launch into a stream, a new one for every captured launch (a
  /// graph may be replayed for as long as the process lives). None is given back: beyond that many
  /// streams, or captured launches of one kernel, tiles are dealt out in turn. Thread-safe.
  int take(const DriverApi& api, CuStream stream);

 private:
  int take_captured();
  int of_stream(unsigned long long id);

  std::mutex mutex_;
  std::unordered_map<unsigned long long, int> streams_;
  int captured_ = kStreams;  ///< the next one
};

}  // namespace wgrad::launch
