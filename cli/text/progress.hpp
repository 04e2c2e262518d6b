// One line on standard error that tells what a long command is doing.
#pragma once

#include <iosfwd>
#include <string_view>

namespace wgrad::cli {

/// Writes only where `enabled`; the line is erased at the end.
class Progress {
 public:
  Progress(std::ostream& err, bool enabled) : err_(err), enabled_(enabled) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { show(""); }

  void show(std::string_view text);

 private:
  std::ostream& err_;
  bool enabled_;
};

/// Whether standard error is a terminal.
bool stderr_is_terminal() noexcept;

}  // namespace wgrad::cli
