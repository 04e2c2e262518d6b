#include "cli/app.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <ostream>
#include <stdexcept>
#include <string_view>

#include "cli/commands/explain_command.hpp"
#include "cli/commands/info_command.hpp"
#include "cli/commands/precompile_command.hpp"
#include "cli/commands/run_command.hpp"
#include "cli/commands/trace_command.hpp"
#include "cli/text/written.hpp"
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
  } catch (const std::length_error&) {
    err << "wgrad: no memory is large enough for these sizes; give a smaller --scale\n";
    return kCannotRun;
  } catch (const std::bad_alloc&) {
    err << "wgrad: not enough memory for these sizes; give a smaller --scale\n";
    return kCannotRun;
  } catch (const std::exception& e) {
    err << e.what() << '\n';
    return kCannotRun;
  }
}

/// Whether `text` is UTF-8, of which JSON is made: lead bytes and as many that follow as they say.
bool is_utf8(std::string_view text) {
  std::size_t following = 0;
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (following > 0) {
      if ((byte & 0xC0U) != 0x80U) return false;
      --following;
    } else if (byte >= 0x80) {
      if (byte < 0xC2 || byte > 0xF4) return false;
      following = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
    }
  }
  return following == 0;
}

/// Before any work: JSON repeats names and paths, and cannot hold other bytes.
void check_text(const std::vector<std::string>& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) return;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_utf8(arguments[i])) continue;
    throw ValueError(
        fmt::format("wgrad: argument {} is no UTF-8; it must be, for --json repeats it", i + 1));
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
    check_text(arguments);
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
