#include "cli/commands/precompile_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "cli/commands/problem_flags.hpp"
#include "cli/commands/scaling.hpp"
#include "cli/text/progress.hpp"
#include "cli/text/table.hpp"
#include "harness/gpu_by_name.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/precompile.hpp"
#include "wgrad/toolchain.hpp"

namespace wgrad::cli {
namespace {

struct PrecompileFlags {
  ProblemFlags problem;
  std::string device = "sm90";
  bool every_candidate = false;
  bool json = false;
};

const char* origin_text(KernelOrigin origin) {
  switch (origin) {
    case KernelOrigin::kMemory:
      return "memory";
    case KernelOrigin::kDisk:
      return "disk";
    case KernelOrigin::kCompiled:
      break;
  }
  return "compiled";
}

std::vector<Problem> problems_of(const ProblemFlags& flags) {
  std::vector<Problem> problems;
  for (const ShapeChoice& choice : chosen_shapes(flags)) {
    const double factor = scale_factor(flags, false).value_or(1.0);
    problems.push_back(make_problem(flags, scaled(choice.shape, factor)));
  }
  return problems;
}

void print_table(const std::vector<PrecompiledKernel>& kernels, std::ostream& out) {
  Table table({"origin", "seconds", "registers", "spills", "shared memory", "plan"});
  for (const PrecompiledKernel& k : kernels) {
    table.add({origin_text(k.origin), fmt::format("{:.2f}", k.seconds),
               fmt::format("{}", k.registers), fmt::format("{}", k.spill_bytes),
               fmt::format("{}", k.smem_bytes), k.plan});
  }
  out << table.text();
  out << fmt::format("\n{} kernel{}; kept in {}\n", kernels.size(), kernels.size() == 1 ? "" : "s",
                     find_toolchain().cache_directory);
}

void print_json(const std::vector<PrecompiledKernel>& kernels, std::ostream& out) {
  auto list = nlohmann::json::array();
  for (const PrecompiledKernel& k : kernels) {
    list.push_back({{"plan", k.plan},
                    {"origin", origin_text(k.origin)},
                    {"path", k.path},
                    {"seconds", k.seconds},
                    {"registers", k.registers},
                    {"spill_bytes", k.spill_bytes},
                    {"smem_bytes", k.smem_bytes},
                    {"compiler_remarks", k.compiler_remarks}});
  }
  out << nlohmann::json{{"kernels", list}}.dump(2) << '\n';
}

int run(const PrecompileFlags& flags, std::ostream& out, std::ostream& err) {
  std::vector<PrecompiledKernel> kernels;
  {
    Progress progress(err, stderr_is_terminal());
    progress.show("compiling");
    std::size_t done = 0;
    const PrecompileOptions options{
        .every_candidate = flags.every_candidate, .progress = [&](const PrecompiledKernel& k) {
          if (k.path.empty()) throw RuntimeError(k.not_kept);
          progress.show(fmt::format("[{}] {} {}", ++done, origin_text(k.origin), k.plan));
        }};
    kernels = precompile(problems_of(flags.problem), harness::gpu_by_name(flags.device), options);
  }
  flags.json ? print_json(kernels, out) : print_table(kernels, out);
  return kOk;
}

}  // namespace

void add_precompile_command(CLI::App& app, std::function<int()>& command, std::ostream& out,
                            std::ostream& err) {
  const auto flags = std::make_shared<PrecompileFlags>();
  CLI::App* sub = app.add_subcommand("precompile", "Compile GPU kernels into the disk cache");
  add_problem_flags(*sub, flags->problem);
  sub->add_option("--device", flags->device, "The GPU to compile for")
      ->check(CLI::IsMember({"sm90", "sm100", "sm103"}));
  sub->add_flag("--every-candidate", flags->every_candidate,
                "All candidates of each problem, not the chosen one only");
  sub->add_flag("--json", flags->json, "JSON instead of a table");
  sub->callback([&command, flags, &out, &err] {
    command = [flags, &out, &err] { return run(*flags, out, err); };
  });
}

}  // namespace wgrad::cli
