// A shadow of one CTA's shared memory: who wrote and who read each 16 bytes, and whether what comes
// next is ordered after them. The order is that of the program's synchronisation, not of this run,
// so a race shows under any schedule.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "emu/fault.hpp"
#include "emu/order/clocks.hpp"

namespace wgrad::emu {

enum class OpKind : std::uint8_t { kLoad, kStore, kAdd, kWgmma, kCopy, kTensor };

/// An asynchronous operation: complete for those who know `agents` consecutive agents at `clock`.
struct OpRecord {
  OpKind kind = OpKind::kLoad;
  std::uint8_t agents = 1;
  Agent agent = 0;        // completion of its shared memory accesses
  Clock clock = 0;        // 0: not complete for anybody yet
  Agent written = 0;      // stores: completion in global memory
  std::uint32_t cta = 0;  // of the issuing thread
  std::uint32_t thread = 0;
};

struct Access {
  std::uint32_t who = 0;   // agent of a thread, or kAsync | index of an operation
  Clock clock = 0;         // of a thread
  std::uint16_t mask = 0;  // bytes of the granule
};
inline constexpr std::uint32_t kAsync = 1u << 31;
inline constexpr std::uint32_t kGranule = 16;

struct KnowingFence {
  Clock clock = 0;
  SnapshotRef known;
};

/// What the shadows of a cluster's CTAs share.
struct History {
  std::vector<OpRecord> ops;
  std::vector<FenceLog> proxy_fences;  // by thread agent
  std::vector<FenceLog> init_fences;   // of mbarrier initialisation, by thread agent
  // Proxy fences since the first store into another CTA, with what their thread knew.
  std::vector<std::vector<KnowingFence>> knowing_fences;
  Agents agents;
  std::uint32_t first_cta = 0;  // of the cluster

  std::uint32_t rank_of(const Access& access) const;
  /// Whether `earlier` comes before the access of somebody in CTA `rank` who knows `view`.
  bool ordered(const Access& earlier, const Access& access, const ClockView& view) const;
  /// An access of thread `who`, seen by a thread of the cluster's CTA `rank`.
  bool seen(Agent who, Clock clock, std::uint32_t rank, const ClockView& view) const;
  /// Whether a thread of CTA `rank` fenced after it knew of thread `who`'s store there.
  bool fenced_there(Agent who, Clock clock, std::uint32_t rank, const ClockView& view) const;
  bool complete_for(const OpRecord& op, const ClockView& view) const;
  /// The ordinary access that a thread's copy (cp.async) amounts to once it is waited for; others
  /// as they are.
  Access generic(const Access& access) const;
  std::string describe(const Access& access) const;
};

class Shadow {
 public:
  Shadow(History& history, std::uint32_t rank, std::uint32_t bytes)
      : history_(&history), rank_(rank), granules_(bytes / kGranule) {}

  /// `offset` and `bytes` lie within one granule. Throws FaultError; `label` names the bytes in its
  /// message.
  void read(const Access& access, const ClockView& view, std::uint32_t granule);
  void write(const Access& access, const ClockView& view, std::uint32_t granule);

 private:
  struct Granule {
    Access write;
    Access reads[2];
    std::uint16_t written = 0;
    std::uint8_t read_count = 0;
    bool spilled = false;
  };
  struct Spill {
    std::vector<Access> writes;
    std::vector<Access> reads;
  };

  void check_after_write(const Access& earlier, const Access& access, const ClockView& view,
                         std::uint32_t granule, const char* verb) const;
  void check_after_read(const Access& earlier, const Access& access, const ClockView& view,
                        std::uint32_t granule) const;
  bool same_agent(const Access& x, const Access& y) const;
  void remember_read(const Access& access, const ClockView& view, std::uint32_t granule);
  [[noreturn]] void raise(FaultKind kind, const std::string& message, std::uint32_t granule) const;

  History* history_;
  std::uint32_t rank_;  // of the CTA in its cluster
  std::vector<Granule> granules_;
  std::unordered_map<std::uint32_t, Spill> spills_;
};

/// Thrown by Shadow: the granule, for the CTA to name.
class ShadowError : public FaultError {
 public:
  ShadowError(FaultKind kind, const std::string& message, std::uint32_t granule)
      : FaultError(kind, message), granule_(granule) {}
  std::uint32_t granule() const noexcept { return granule_; }

 private:
  std::uint32_t granule_;
};

}  // namespace wgrad::emu
