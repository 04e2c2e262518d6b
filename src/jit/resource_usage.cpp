#include "jit/resource_usage.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace wgrad::jit {
namespace {

/// The integer right before `label`, or nullopt where `line` has no such label.
std::optional<int> number_before(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t first = at;
  while (first > 0 && line[first - 1] >= '0' && line[first - 1] <= '9') --first;
  int value = 0;
  const auto [end, error] = std::from_chars(line.data() + first, line.data() + at, value);
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

bool is_report(std::string_view line) {
  constexpr std::array kParts = {" bytes gmem", "Compiling entry function", "Function properties",
                                 " bytes stack frame", "Compile time"};
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return true;
  if (line.find(": Used ") != std::string_view::npos) return true;
  return std::any_of(kParts.begin(), kParts.end(), [&](std::string_view part) {
    return line.find(part) != std::string_view::npos;
  });
}

/// A function that was not inlined reports its own stack: the largest counts, spills add up.
void read_line(std::string_view line, ResourceUsage& usage) {
  if (const auto bytes = number_before(line, " bytes stack frame")) {
    usage.stack_bytes = std::max(usage.stack_bytes, *bytes);
  }
  for (const char* label : {" bytes spill stores", " bytes spill loads"}) {
    usage.spill_bytes += number_before(line, label).value_or(0);
  }
  if (const auto registers = number_before(line, " registers")) {
    usage.registers = std::max(usage.registers, *registers);
    usage.static_smem_bytes =
        std::max(usage.static_smem_bytes, number_before(line, " bytes smem").value_or(0));
  }
  if (!is_report(line)) usage.warnings.append(line).append("\n");
}

}  // namespace

std::optional<ResourceUsage> resource_usage(std::string_view log) {
  ResourceUsage usage;
  for (std::string_view rest = log; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    read_line(rest.substr(0, end), usage);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return usage.registers > 0 ? std::optional(usage) : std::nullopt;
}

}  // namespace wgrad::jit
