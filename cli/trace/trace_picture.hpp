// A timeline as an SVG picture: one CTA, a row for each engine, stage and warp.
#pragma once

#include <iosfwd>

#include "wgrad/trace.hpp"

namespace wgrad::cli {

/// What of a timeline to draw; times in microseconds.
struct PictureWindow {
  int cta = 0;
  double from = 0;
  double to = 0;  ///< 0: the end
};

void write_trace_picture(const Timeline& timeline, const PictureWindow& window, std::ostream& out);

}  // namespace wgrad::cli
