// emu_fuzz [--problems N] [--first K] [--seconds S] [--shrink 0]  random problems over every
// kernel, smaller ones when they fail emu_fuzz --kernel I --m ... (printed by a failure)  one case
// again
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "emu/verdict.hpp"

namespace {

using namespace wgrad::test;

int replay(const std::vector<std::string>& args) {
  const std::string result = verdict(parse(args)).text;
  fmt::print("{}\n", result.empty() ? "right" : result);
  return result.empty() ? 0 : 1;
}

struct Plan {
  std::uint64_t problems = 40;
  std::uint64_t first = 1;
  double seconds = 1e9;
  bool shrink = true;
};

Plan plan_of(const std::vector<std::string>& args) {
  Plan plan;
  for (std::size_t i = 0; i + 1 < args.size(); i += 2) {
    if (args[i] == "--problems") plan.problems = std::strtoull(args[i + 1].c_str(), nullptr, 10);
    if (args[i] == "--first") plan.first = std::strtoull(args[i + 1].c_str(), nullptr, 10);
    if (args[i] == "--shrink") plan.shrink = args[i + 1] != "0";
    if (args[i] == "--seconds") plan.seconds = std::strtod(args[i + 1].c_str(), nullptr);
  }
  return plan;
}

int sweep(const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::uint64_t done = 0, switches = 0, wgmmas = 0;
  for (; done < plan.problems && elapsed() < plan.seconds; ++done) {
    const std::uint64_t number = plan.first + done;
    const std::size_t kernel = number % kernels().size();
    const KernelCase c = fuzz_case(kernels()[kernel].config, kernel, number);
    const auto [result, stats] = verdict(c);
    switches += stats.switches;
    wgmmas += stats.wgmmas;
    if (result.empty()) continue;
    fmt::print("problem {} failed: {}\n", number, result);
    if (!plan.shrink) return 1;
    fmt::print("{}", smallest_failure(c));
    return 1;
  }
  if (done == 0) return fmt::print("no problem was run\n"), 1;
  fmt::print("{} problems right over {} kernels in {:.1f} s: {} fiber switches, {} wgmmas\n", done,
             kernels().size(), elapsed(), switches, wgmmas);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == "--kernel") return replay(args);
  return sweep(plan_of(args));
}
