#include "cli/commands/run_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/app.hpp"
#include "cli/commands/scaling.hpp"
#include "cli/text/table.hpp"
#include "harness/measure.hpp"

namespace wgrad::cli {
namespace {

std::string scale_text(double scale) {
  const double inverse = 1 / scale;
  if (inverse == std::floor(inverse) && inverse > 1) return fmt::format("1/{}", inverse);
  return fmt::format("{:.4g}", scale);
}

void print_table(const std::vector<Row>& rows, std::ostream& out) {
  Table table({"shape", "scale", "E", "M", "N", "T", "ms", "GFLOP/s", "max error", "of allowed",
               "check", "backend", "plan"});
  for (const Row& r : rows) {
    table.add({r.shape, scale_text(r.scale), fmt::format("{}", r.problem.experts),
               fmt::format("{}", r.problem.m), fmt::format("{}", r.problem.n),
               fmt::format("{}", r.problem.tokens),
               fmt::format("{:.3f}", harness::median(r.times_ms)),
               fmt::format("{:.1f}", r.gflops()), fmt::format("{:.1e}", r.check.max_error),
               fmt::format("{:.2f}", r.check.max_of_bound), r.check.ok() ? "ok" : "FAILED",
               r.backend, r.plan});
  }
  out << table.text();
}

std::string size_of(const DeviceSpec& device) {
  const bool gpu = device.kind != DeviceKind::kCpu;
  const int count = gpu ? device.sm_count : device.threads;
  return fmt::format("{} {}{}", count, gpu ? "SM" : "thread", count == 1 ? "" : "s");
}

void print_notes(const RunFlags& flags, const std::vector<Row>& rows, const DeviceSpec& device,
                 std::ostream& out) {
  std::int64_t samples = 0;
  for (const Row& row : rows) samples += row.check.samples;
  out << fmt::format("\nformat {}, out {}{}, {}, {}, majors {}; {}, {}; ms: median of {}{}\n",
                     flags.problem.format, flags.problem.out_dtype,
                     flags.problem.accumulate ? " accumulate" : "", flags.problem.order,
                     flags.problem.output, majors_text(rows.front().problem), device.name,
                     size_of(device), flags.repeat,
                     flags.backend == "emu" ? " runs of the emulator, not a GPU's time" : "");
  if (std::any_of(rows.begin(), rows.end(), [](const Row& r) { return r.scale != 1; })) {
    out << scaling_rule(flags.backend, device.threads) << '\n';
  }
  out << harness::error_bound_text() << '\n'
      << fmt::format("{}; outputs held {} before\n", harness::checked_text(samples),
                     flags.problem.accumulate ? "random numbers" : "NaN");
}

nlohmann::json to_json(const Row& r) {
  return {{"shape", r.shape},
          {"scale", r.scale},
          {"experts", r.problem.experts},
          {"m", r.problem.m},
          {"n", r.problem.n},
          {"tokens", r.problem.tokens},
          {"ms", harness::median(r.times_ms)},
          {"times_ms", r.times_ms},
          {"gflops", r.gflops()},
          {"samples", r.check.samples},
          {"max_error", r.check.max_error},
          {"error_of_allowed", r.check.max_of_bound},
          {"ok", r.check.ok()},
          {"failure", r.check.failure},
          {"backend", r.backend},
          {"plan", r.plan}};
}

void print_json(const RunFlags& flags, const std::vector<Row>& rows, const DeviceSpec& device,
                std::ostream& out) {
  nlohmann::json document = {{"format", flags.problem.format},
                             {"out_dtype", flags.problem.out_dtype},
                             {"accumulate", flags.problem.accumulate},
                             {"order", flags.problem.order},
                             {"output", flags.problem.output},
                             {"majors", majors_text(rows.front().problem)},
                             {"device", device.name},
                             {"threads", device.threads},
                             {"sm_count", device.sm_count},
                             {"seed", flags.problem.seed},
                             {"scaling", scaling_rule(flags.backend, device.threads)},
                             {"error", harness::error_bound_text()},
                             {"rows", nlohmann::json::array()}};
  for (const Row& row : rows) document["rows"].push_back(to_json(row));
  out << document.dump(2) << '\n';
}

}  // namespace

double Row::gflops() const {
  return 2e-6 * static_cast<double>(problem.tokens) * static_cast<double>(problem.m) *
         static_cast<double>(problem.n) / harness::median(times_ms);
}

int report(const RunFlags& flags, const std::vector<Row>& rows, const DeviceSpec& device,
           std::ostream& out, std::ostream& err) {
  if (flags.json) {
    print_json(flags, rows, device, out);
  } else {
    print_table(rows, out);
    print_notes(flags, rows, device, out);
  }
  int code = kOk;
  for (const Row& row : rows) {
    if (row.check.ok()) continue;
    err << fmt::format("wgrad: {}: {}\n", row.shape, row.check.failure);
    code = kCheckFailed;
  }
  return code;
}

}  // namespace wgrad::cli
