#include "cli/app.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <ostream>

#include "cli/explain_command.hpp"
#include "cli/info_command.hpp"
#include "cli/precompile_command.hpp"
#include "cli/run_command.hpp"
#include "cli/trace_command.hpp"
#include "cli/written.hpp"
#include "wgrad/errors.hpp"

namespace wgrad::cli {
namespace {

constexpr const char* kSummary =
    "Grouped weight gradients for mixture-of-experts layers:\n"
    "Wgrad[e] = A[:, begin_e:end_e] @ B[begin_e:end_e, :] for every expert e.";

int guarded(const std::function<int()>& command, std::ostream& out, std::ostream& err) {
  try {
    const int code = command();
    check_written(out, "standard output");
    return code;
  } catch (const ValueError& e) {
    err << e.what() << '\n';
    return kBadArgument;
  } catch (const std::bad_alloc&) {
    err << "wgrad: not enough memory for these sizes; give a smaller --scale\n";
    return kCannotRun;
  } catch (const std::exception& e) {
    err << e.what() << '\n';
    return kCannotRun;
  }
}

/// The library's parser only says that it did not expect the word.
void check_command(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front().starts_with('-')) return;
  std::string names;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == arguments.front()) return;
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  throw ValueError(
      fmt::format("wgrad: command is '{}'; it must be one of {}", arguments.front(), names));
}

}  // namespace

int run_app(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  CLI::App app(kSummary, "wgrad");
  app.require_subcommand(1);
  app.set_version_flag("--version", "wgrad " WGRAD_VERSION);
  app.footer("'wgrad COMMAND --help' tells a command's flags.");

  std::function<int()> command;
  add_run_command(app, command, out, err);
  add_explain_command(app, command, out);
  add_info_command(app, command, out);
  add_precompile_command(app, command, out, err);
  add_trace_command(app, command, out, err);

  const auto parse = [&] {
    check_command(app, arguments);
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());  // as CLI11 wants
    app.parse(std::move(reversed));
    return command();
  };
  return guarded(
      [&] {
        try {
          return parse();
        } catch (const CLI::Success& asked) {  // --help, --version
          return app.exit(asked, out, err);
        } catch (const CLI::ParseError& e) {
          app.exit(e, out, err);
          return int{kBadArgument};
        }
      },
      out, err);
}

}  // namespace wgrad::cli
