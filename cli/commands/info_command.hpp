// `wgrad info`: what this machine offers.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <iosfwd>

namespace wgrad::cli {

/// Adds the subcommand; parsing it sets `command`, whose value is the exit code.
void add_info_command(CLI::App& app, std::function<int()>& command, std::ostream& out);

}  // namespace wgrad::cli
