#include "launch/claim_slots.hpp"

namespace wgrad::launch {

int ClaimSlots::take(const DriverApi& api, CuStream stream) {
  int status = kCuCaptureNone;
  if (api.stream_is_capturing(stream, &status) != kCuSuccess) return kNone;
  const std::lock_guard lock(mutex_);
  if (status != kCuCaptureNone) return take_captured();
  unsigned long long id = 0;  // never given to another stream, unlike the handle
  if (api.stream_get_id(stream, &id) != kCuSuccess) return kNone;
  return of_stream(id);
}

int ClaimSlots::take_captured() {
  return captured_ < shared::kClaimSlots ? captured_++ : kNone;
}

int ClaimSlots::of_stream(unsigned long long id) {
  const auto found = streams_.find(id);
  if (found != streams_.end()) return found->second;
  const int slot = static_cast<int>(streams_.size());
  if (slot >= kStreams) return kNone;
  return streams_[id] = slot;
}

}  // namespace wgrad::launch
