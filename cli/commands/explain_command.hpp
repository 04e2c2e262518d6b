// `wgrad explain`: what the planner chooses, what it predicts, and what cannot run and why.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <iosfwd>

namespace wgrad::cli {

/// Adds the subcommand; parsing it sets `command`, whose value is the exit code.
void add_explain_command(CLI::App& app, std::function<int()>& command, std::ostream& out);

}  // namespace wgrad::cli
