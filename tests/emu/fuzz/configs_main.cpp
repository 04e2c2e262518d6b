// Configurations that a planner for 16-bit operands knows (FAMILY: sm90, sm100), as sources:
// emu_configs random SEED COUNT FOLDER FAMILY   kernel0.cu, kernel1.cu, ...: what NVRTC would get
//   of different ones
// emu_configs covering TOGETHER FOLDER FAMILY   the same of those in which every TOGETHER factors
//   meet
// emu_configs list TOGETHER FOLDER PARTS   those of sm90 as the fuzzer's kernels():
//   planned_kernels.cpp, and the parts that it joins, planned_0.cpp, ...
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/field_text.hpp"
#include "harness/random.hpp"
#include "kernels/sm100/source.hpp"
#include "kernels/sm90/source.hpp"
#include "support/harness.hpp"
#include "support/planned/covering_configs.hpp"
#include "support/planned/planned_configs.hpp"

namespace {

using namespace wgrad;
using Configs = std::vector<shared::Config>;
using Sm100Configs = std::vector<shared::sm100::Config>;

std::string text_of(const shared::Config& c) {
  return kernels::sm90::source(c).text;
}
std::string text_of(const shared::sm100::Config& c) {
  return kernels::sm100::source(c, 100).text;
}

template <typename AnyConfigs>
AnyConfigs drawn(AnyConfigs all, std::uint64_t seed, std::size_t count) {
  test::Random random(seed);
  for (std::size_t i = 0; i < count && i < all.size(); ++i) {
    const auto last = static_cast<std::int64_t>(all.size()) - 1;
    const auto chosen = random.integer(static_cast<std::int64_t>(i), last);
    std::swap(all[i], all[static_cast<std::size_t>(chosen)]);
  }
  fmt::print("{} of {} configurations\n", std::min(count, all.size()), all.size());
  if (count < all.size()) all.resize(count);
  return all;
}

Configs covering(const Configs& all, int together) {
  return test::covering_configs<shared::Config>(all, test::emulated_factors, together);
}
Sm100Configs covering(const Sm100Configs& all, int together) {
  return test::covering_configs<shared::sm100::Config>(all, test::field_factors, together);
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw std::runtime_error("cannot write to " + path);
}

template <typename AnyConfigs>
void write_sources(const AnyConfigs& configs, const std::string& folder) {
  for (std::size_t i = 0; i < configs.size(); ++i)
    write(fmt::format("{}/kernel{}.cu", folder, i), text_of(configs[i]));
}

constexpr const char* kPartHead =
    "#include <iterator>\n#include <utility>\n#include <vector>\n\n"
    "#include \"kernels/sm90/emulated/table.hpp\"\n\n"
    "namespace wgrad::test {{\n\nstd::vector<kernels::sm90::CompiledKernel> planned_part_{0}();\n\n"
    "namespace {{\n\nusing namespace wgrad::shared;\n\nconstexpr Config kConfigs[] = {{\n";
constexpr const char* kPartTail =
    "}};\n\n}}  // namespace\n\n"
    "std::vector<kernels::sm90::CompiledKernel> planned_part_{0}() {{\n"
    "  return kernels::sm90::compiled<kConfigs>(\n"
    "      std::make_index_sequence<std::size(kConfigs)>());\n"
    "}}\n\n}}  // namespace wgrad::test\n";

/// Every `parts`-th configuration, from `part` on: each part takes as long to compile.
std::string part_text(const Configs& configs, std::size_t part, std::size_t parts) {
  std::string text = fmt::format(fmt::runtime(kPartHead), part);
  for (std::size_t i = part; i < configs.size(); i += parts)
    text += fmt::format("    {{\n{}}},\n", core::field_text(configs[i], "        ", 100));
  return text + fmt::format(fmt::runtime(kPartTail), part);
}

std::string joined_text(std::size_t parts) {
  std::string declared, joined;
  for (std::size_t i = 0; i < parts; ++i) {
    declared += fmt::format("std::vector<kernels::sm90::CompiledKernel> planned_part_{}();\n", i);
    joined += fmt::format("{}planned_part_{}()", i == 0 ? "" : ", ", i);
  }
  return fmt::format(
      "#include \"emu/kernels/kernel_list.hpp\"\n\nnamespace wgrad::test {{\n\n{}\n"
      "const std::vector<kernels::sm90::CompiledKernel>& kernels() {{\n"
      "  static const auto kAll = [] {{\n"
      "    std::vector<kernels::sm90::CompiledKernel> all;\n"
      "    for (const auto& part : {{{}}}) all.insert(all.end(), part.begin(), part.end());\n"
      "    return all;\n  }}();\n  return kAll;\n}}\n\n}}  // namespace wgrad::test\n",
      declared, joined);
}

void write_list(const Configs& configs, const std::string& folder, std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i)
    write(fmt::format("{}/planned_{}.cpp", folder, i), part_text(configs, i, parts));
  write(folder + "/planned_kernels.cpp", joined_text(parts));
}

/// False: it is no command.
template <typename AnyConfigs>
bool run_for_family(const std::vector<std::string>& args, const AnyConfigs& all) {
  if (args.size() == 5 && args[0] == "random") {
    write_sources(drawn(all, std::stoull(args[1]), std::stoull(args[2])), args[3]);
  } else if (args.size() == 4 && args[0] == "covering") {
    write_sources(covering(all, std::stoi(args[1])), args[2]);
  } else {
    return false;
  }
  return true;
}

int run(const std::vector<std::string>& args) {
  if (args.size() == 4 && args[0] == "list") {
    write_list(covering(test::planned_configs(), std::stoi(args[1])), args[2],
               std::stoull(args[3]));
    return 0;
  }
  const std::string family = args.empty() ? "" : args.back();
  if (family == "sm90" && run_for_family(args, test::planned_configs())) return 0;
  if (family == "sm100" && run_for_family(args, test::planned_sm100_configs())) return 0;
  fmt::print(stderr,
             "usage: emu_configs random SEED COUNT FOLDER FAMILY | covering TOGETHER FOLDER FAMILY "
             "| list TOGETHER FOLDER PARTS\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    return fmt::print(stderr, "{}\n", error.what()), 1;
  }
}
