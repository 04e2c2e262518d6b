// `wgrad trace`: one run's timeline as a file for a viewer, and as a picture.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <iosfwd>

namespace wgrad::cli {

/// Adds the subcommand; parsing it sets `command`, whose value is the exit code.
void add_trace_command(CLI::App& app, std::function<int()>& command, std::ostream& out,
                       std::ostream& err);

}  // namespace wgrad::cli
