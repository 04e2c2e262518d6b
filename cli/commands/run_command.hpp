// `wgrad run`: time and check problems on this machine.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <iosfwd>

namespace wgrad::cli {

/// Adds the subcommand; parsing it sets `command`, whose value is the exit code.
void add_run_command(CLI::App& app, std::function<int()>& command, std::ostream& out,
                     std::ostream& err);

}  // namespace wgrad::cli
