// emu_fuzz [--problems N] [--first K] [--jobs J] [--seconds S] [--shrink 0]
//   random problems K to K + N - 1 over every kernel, smaller ones when they fail; J processes.
//   A run that S seconds cut short has failed.
// emu_fuzz --kernel I --m ... (printed by a failure)
//   one case again
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "emu/fuzz/verdict.hpp"

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
  std::uint64_t jobs = 1;
  double seconds = 1e9;
  bool shrink = true;
};

/// nullopt after a word on what is no flag of this program.
std::optional<Plan> plan_of(const std::vector<std::string>& args) {
  Plan plan;
  for (std::size_t i = 0; i < args.size(); i += 2) {
    const std::string& flag = args[i];
    const char* value = i + 1 < args.size() ? args[i + 1].c_str() : "";
    if (flag == "--problems") {
      plan.problems = std::strtoull(value, nullptr, 10);
    } else if (flag == "--first") {
      plan.first = std::strtoull(value, nullptr, 10);
    } else if (flag == "--jobs") {
      plan.jobs = std::strtoull(value, nullptr, 10);
    } else if (flag == "--shrink") {
      plan.shrink = std::string(value) != "0";
    } else if (flag == "--seconds") {
      plan.seconds = std::strtod(value, nullptr);
    } else {
      fmt::print(stderr, "{} is none of --problems, --first, --jobs, --seconds, --shrink\n", flag);
      return std::nullopt;
    }
  }
  return plan;
}

int sweep(const Plan& plan) {
  const auto start = std::chrono::steady_clock::now();
  const auto elapsed = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  std::uint64_t done = 0, switches = 0, multiplications = 0;
  for (; done < plan.problems && elapsed() < plan.seconds; ++done) {
    const std::uint64_t number = plan.first + done;
    const std::size_t kernel = number % kernels().size();
    const KernelCase c = fuzz_case(kernels()[kernel].config, kernel, number);
    const auto [result, stats] = verdict(c);
    switches += stats.switches;
    multiplications += stats.wgmmas + stats.tcgen05s;
    if (result.empty()) continue;
    fmt::print("problem {} failed: {}\n", number, result);
    if (!plan.shrink) return 1;
    fmt::print("{}", smallest_failure(c));
    return 1;
  }
  if (done == 0) return fmt::print("no problem was run\n"), 1;
  if (done < plan.problems)
    return fmt::print("{} of {} problems right when the time was over\n", done, plan.problems), 1;
  fmt::print(
      "{} problems right over {} kernels in {:.1f} s: {} fiber switches, {} multiplications\n",
      done, kernels().size(), elapsed(), switches, multiplications);
  return 0;
}

// A process for each part: the machine knows the running thread by a variable of its process.
int sweep_in_parts(const Plan& whole) {
  const std::uint64_t jobs = std::min(whole.jobs, whole.problems);
  std::vector<pid_t> children;
  for (std::uint64_t j = 0; j < jobs; ++j) {
    Plan part = whole;
    part.first = whole.first + whole.problems * j / jobs;
    part.problems = whole.first + whole.problems * (j + 1) / jobs - part.first;
    const pid_t child = fork();
    if (child == 0) return sweep(part);
    children.push_back(child);
  }
  std::size_t right = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (child > 0 && waitpid(child, &status, 0) == child && status == 0) ++right;
  }
  fmt::print("{} of {} processes found everything right\n", right, children.size());
  return right == children.size() && right > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (!args.empty() && args[0] == "--kernel") return replay(args);
  const std::optional<Plan> plan = plan_of(args);
  if (!plan) return 2;
  return plan->jobs > 1 ? sweep_in_parts(*plan) : sweep(*plan);
}
