#include "cli/commands/run_command.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <ostream>

#include "bench/token_counts.hpp"
#include "cli/commands/run_report.hpp"
#include "cli/commands/scaling.hpp"
#include "cli/text/numbers.hpp"
#include "cli/text/progress.hpp"
#include "harness/measure.hpp"
#include "harness/place.hpp"
#include "harness/workload.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::cli {
namespace {

/// Of operands, offsets and outputs, in host memory. In double: the product of four extents.
double data_bytes(const Problem& p, double experts, double tokens) {
  const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n);
  return tokens * (m * bits(p.a_dtype) + n * bits(p.b_dtype)) / 8 +
         experts * (m * n * bits(p.wgrad_dtype) / 8 + 4);
}

/// Before the work: a machine that lacks the memory would swap, or fail, after minutes.
void require_memory(const Problem& p, const bench::Shape& shape) {
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  const double bytes =
      data_bytes(p, static_cast<double>(shape.experts), static_cast<double>(shape.tokens));
  const double there =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  if (bytes <= there) return;
  throw ValueError(fmt::format(
      "wgrad: shape is {}, whose operands and outputs take {:.0f} GiB; it must be one that this "
      "machine's memory of {:.0f} GiB holds",
      shape.name, bytes / kGiB, there / kGiB));
}

Row run_one(const RunFlags& flags, const ShapeChoice& choice, harness::Place& place,
            const std::function<void(const char*)>& stage) {
  const double budget = flop_budget(flags.backend, place.device.threads);
  const double factor =
      scale_factor(flags.problem, choice.named).value_or(automatic_factor(choice.shape, budget));
  const bench::Shape shape = choice.counts.empty() ? scaled(choice.shape, factor) : choice.shape;
  Row row;
  row.shape = choice.shape.name;
  row.scale = factor;
  const Problem problem = make_problem(flags.problem, shape);
  const Executable executable = prepare(problem, place.device, {.backend = flags.backend});
  require_memory(problem, shape);
  row.backend = executable.backend();
  row.plan = executable.plan();

  stage("making data");
  const std::int64_t multiple = problem.a_dtype == DType::kE2m1 ? 2 : 1;
  const auto counts = choice.counts.empty()
                          ? bench::token_counts(shape, flags.problem.seed, multiple)
                          : choice.counts;
  const int threads = flags.threads > 0 ? flags.threads : cpu_device().threads;
  harness::Workload workload(problem, counts, flags.problem.seed, threads, place.memory);
  row.problem = workload.problem();
  stage("running once");
  executable.run(workload.device_operands());
  stage("checking");
  workload.fetch_outputs();
  row.check = harness::check(workload, flags.samples, flags.problem.seed, row.backend);
  stage("timing");
  row.times_ms = harness::measure(executable, workload, *place.memory, flags.repeat);
  return row;
}

int run(const RunFlags& flags, std::ostream& out, std::ostream& err) {
  if (flags.gpu != 0 && flags.backend != "cuda")
    throw ValueError("wgrad: --gpu is given; it is for --backend cuda");
  const std::vector<ShapeChoice> choices = chosen_shapes(flags.problem);
  harness::Place place =
      harness::place_of({.backend = flags.backend, .threads = flags.threads, .gpu = flags.gpu});
  std::vector<Row> rows;
  {
    Progress progress(err, stderr_is_terminal());
    for (const ShapeChoice& choice : choices) {
      rows.push_back(run_one(flags, choice, place, [&](const char* stage) {
        progress.show(fmt::format("[{}/{}] {}: {}", rows.size() + 1, choices.size(),
                                  choice.shape.name, stage));
      }));
    }
  }
  return report(flags, rows, place.device, out, err);
}

}  // namespace

void add_run_command(CLI::App& app, std::function<int()>& command, std::ostream& out,
                     std::ostream& err) {
  const auto flags = std::make_shared<RunFlags>();
  CLI::App* sub = app.add_subcommand("run", "Time problems and check them against the oracle");
  add_problem_flags(*sub, flags->problem);
  sub->add_option("--backend", flags->backend,
                  "cpu (where built, the default), reference, cuda, or emu (an emulated GPU)");
  add_number(*sub, "--gpu", flags->gpu, 0, "Ordinal of the CUDA device (0)");
  add_number(*sub, "--threads", flags->threads, 1, "CPU threads (all)");
  add_number(*sub, "--repeat", flags->repeat, 1, "Timed runs of each shape (5)");
  add_number(*sub, "--samples", flags->samples, std::int64_t{1},
             "Elements of each shape to check, at least (512)");
  sub->add_flag("--json", flags->json, "JSON instead of a table");
  sub->footer(
      "Exit code: 0 right, 1 a result is wrong, 2 a bad argument, 3 cannot run here or cannot "
      "write what it found.");
  sub->callback([&command, flags, &out, &err] {
    command = [flags, &out, &err] { return run(*flags, out, err); };
  });
}

}  // namespace wgrad::cli
