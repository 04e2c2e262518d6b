// What a traced kernel (Config::trace) leaves behind: for every warp the events it took part in, in
// the caller's workspace, which is zero before the launch.
#pragma once

#include "wgrad/shared/kernel_config.hpp"

namespace wgrad::shared {

enum class TraceKind : u32 {
  kNone = 0,
  kAnchor,     // begin: SM clock; end, detail: low and high half of the GPU's timer in ns
  kTile,       // a whole output tile; detail: its index
  kWaitEmpty,  // detail of this and the next ones: stage
  kCopy,
  kWaitTurn,  // detail: warpgroup
  kWaitFull,
  kMask,
  kMultiply,  // from the issue of a stage's wgmmas to the wait that finds them complete; on SM 10.0
              // their issue
  kWaitParts,  // split_k: room for the parts to send, then the other CTAs' parts
  kSendParts,
  kWaitRing,  // detail of this and the next: output box of the tile
  kWriteBox,
  kFinish,
  // Engines, which only the emulated machine can look at; detail: bytes, or columns of a wgmma.
  kEngineLoad,
  kEngineMultiply,
  kEngineStore,
  kWaitSum,          // SM 10.0; detail of this and the next: accumulator
  kWaitAccumulator,  // until it is read
};

struct TraceEvent {
  u32 begin;  // low half of the SM's clock
  u32 end;
  TraceKind kind;
  u32 detail;
};
static_assert(sizeof(TraceEvent) == 16);

inline constexpr u32 kTraceEvents = 2048;  // room for each track; what comes later is left out

enum class TraceEngine : u32 { kLoad, kMultiply, kStore };
inline constexpr u32 kTraceEngines = 3;

// Tracks of a CTA: its warps, then the engines.
template <TileConfig C>
constexpr u32 trace_tracks(const C& c) {
  return static_cast<u32>(threads_per_cta(c)) / 32 + kTraceEngines;
}
template <TileConfig C>
constexpr u64 trace_bytes(const C& c, u32 ctas) {
  return u64{ctas} * trace_tracks(c) * kTraceEvents * sizeof(TraceEvent);
}
// First event of a track, in events from the start.
template <TileConfig C>
constexpr u64 trace_track(const C& c, u32 cta, u32 track) {
  return (u64{cta} * trace_tracks(c) + track) * kTraceEvents;
}

}  // namespace wgrad::shared
