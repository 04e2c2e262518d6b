// When each part of a kernel did what: the timeline of one traced run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wgrad {

/// What a track shows.
enum class TraceRole : std::uint8_t {
  kEngine,    ///< a copy engine or tensor core; only the emulated GPU can look at them
  kStage,     ///< an operand stage in shared memory
  kProducer,  ///< a warp that fills stages
  kMath,      ///< a warp that multiplies
};

/// A row of the timeline: one warp, stage or engine of a CTA.
struct TraceTrack {
  std::string name;  ///< "math 1 warp 2", "stage 0", ...
  TraceRole role = TraceRole::kMath;
  int group = 0;  ///< which math warpgroup, 0 or 1; 0 for other roles
};

/// Something that took time. Spans of a track may lie within each other.
struct TraceSpan {
  int cta = 0;    ///< index in the grid
  int track = 0;  ///< index into Timeline::tracks
  /// "wait full", "multiply", ...; of static lifetime.
  std::string_view name;
  std::int64_t detail = 0;  ///< stage, tile, output box or bytes, as `name` wants it
  double begin_us = 0;      ///< since the first event of all CTAs
  double end_us = 0;        ///< likewise; not before begin_us
};

/// One run of a traced operator.
struct Timeline {
  std::string plan;                ///< Executable::plan() of the operator
  std::vector<TraceTrack> tracks;  ///< of each CTA, top to bottom
  std::vector<TraceSpan> spans;    ///< by CTA, track and begin
  bool complete = true;            ///< false: a track had more events than there was room for
  double cycles_per_us = 0;        ///< of the SMs' clocks, on the average
};

}  // namespace wgrad
