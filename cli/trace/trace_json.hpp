// A timeline in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.
#pragma once

#include <iosfwd>

#include "wgrad/trace.hpp"

namespace wgrad::cli {

void write_trace_json(const Timeline& timeline, std::ostream& out);

}  // namespace wgrad::cli
