#include "cli/commands/trace_command.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "bench/token_counts.hpp"
#include "cli/app.hpp"
#include "cli/commands/problem_flags.hpp"
#include "cli/commands/scaling.hpp"
#include "cli/text/numbers.hpp"
#include "cli/text/written.hpp"
#include "cli/trace/trace_json.hpp"
#include "cli/trace/trace_picture.hpp"
#include "harness/place.hpp"
#include "harness/sampled_check.hpp"
#include "harness/workload.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::cli {
namespace {

struct TraceFlags {
  ProblemFlags problem;
  std::string backend = "emu";
  std::string device = "sm90";
  int sms = 0;
  int warmup = 0;
  std::string timeline = "trace.json";
  std::string picture;
  bool has_picture = false;
  int cta = 0;
  double from = 0;
  std::optional<double> to;
};

constexpr std::int64_t kSamples = 256;

bench::Shape shape_of(const TraceFlags& flags, const ShapeChoice& choice) {
  if (!choice.counts.empty()) return choice.shape;
  const double budget = flop_budget(flags.backend, 1);
  return scaled(
      choice.shape,
      scale_factor(flags.problem, choice.named).value_or(automatic_factor(choice.shape, budget)));
}

[[noreturn]] void refuse(const char* flag, std::string_view got, std::string_view need) {
  throw ValueError(fmt::format("wgrad: {} is {}; it must be {}", flag, got, need));
}

bool same_file(const std::string& x, const std::string& y) {
  const auto place = [](const std::string& path) {
    std::error_code ignored;  // an unusable path is for opened() to refuse
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, ignored), ignored);
  };
  return !place(x).empty() && place(x) == place(y);
}

void check_picture(const TraceFlags& flags) {
  if (same_file(flags.picture, flags.timeline)) {
    refuse("--picture", flags.picture, "another file than --timeline");
  }
  if (!std::isfinite(flags.from) || flags.from < 0) {
    refuse("--from", fmt::format("{}", flags.from), "0 us or more");
  }
  if (flags.to && !(std::isfinite(*flags.to) && *flags.to > flags.from)) {
    refuse("--to", fmt::format("{}", *flags.to), fmt::format("above --from, {} us", flags.from));
  }
}

double total_us(const Timeline& timeline) {
  double end = 0;
  for (const TraceSpan& s : timeline.spans) end = std::max(end, s.end_us);
  return end;
}

/// What of `timeline` the picture shows.
PictureWindow window_of(const TraceFlags& flags, const Timeline& timeline) {
  int last = 0;
  for (const TraceSpan& s : timeline.spans) last = std::max(last, s.cta);
  if (flags.cta > last) {
    refuse("--cta", fmt::format("{}", flags.cta), fmt::format("from 0 to {}, the last one", last));
  }
  if (flags.from >= total_us(timeline)) {
    refuse("--from", fmt::format("{}", flags.from),
           fmt::format("below {:.2f} us, the timeline's end", total_us(timeline)));
  }
  return {flags.cta, flags.from, flags.to.value_or(0)};
}

/// Spans of one math warpgroup of CTA 0.
std::vector<TraceSpan> of_warpgroup(const Timeline& timeline, int group) {
  std::vector<TraceSpan> out;
  for (const TraceSpan& s : timeline.spans) {
    const TraceTrack& track = timeline.tracks[static_cast<std::size_t>(s.track)];
    if (s.cta == 0 && track.role == TraceRole::kMath && track.group == group) out.push_back(s);
  }
  return out;
}

/// What its tracks are called but for their numbers: "math 0 warp", "multiplier".
std::string group_name(const Timeline& timeline, int group) {
  const auto track = std::find_if(
      timeline.tracks.begin(), timeline.tracks.end(),
      [&](const TraceTrack& t) { return t.role == TraceRole::kMath && t.group == group; });
  if (track == timeline.tracks.end()) return fmt::format("math {}", group);
  return track->name.substr(0, track->name.find_last_not_of("0123456789 ") + 1);
}

/// Of the time that its record covers, the share that a warpgroup spends in each kind of span; one
/// that lies within another counts in both.
void print_shares(const Timeline& timeline, std::ostream& out) {
  constexpr std::string_view kNames[] = {"multiply",         "wait full", "wait turn",
                                         "wait accumulator", "wait sum",  "mask",
                                         "wait ring",        "write box", "finish"};
  out << "shares of CTA 0's time; a wait within a multiplication counts in both:\n";
  for (int group = 0; group < 2; ++group) {
    const std::vector<TraceSpan> spans = of_warpgroup(timeline, group);
    std::map<int, double> begin, end;  // of each warp's record
    for (const TraceSpan& s : spans) {
      begin.try_emplace(s.track, s.begin_us);
      end[s.track] = std::max(end[s.track], s.end_us);
    }
    double whole = 0;
    for (const auto& [track, last] : end) whole += last - begin[track];
    out << fmt::format("{}:", group_name(timeline, group));
    for (const std::string_view name : kNames) {
      double sum = 0;
      for (const TraceSpan& s : spans) sum += s.name == name ? s.end_us - s.begin_us : 0;
      if (sum > 0) out << fmt::format("  {} {:.0f} %", name, 100 * sum / whole);
    }
    out << '\n';
  }
}

int run(const TraceFlags& flags, std::ostream& out, std::ostream& err) {
  const std::vector<ShapeChoice> choices = chosen_shapes(flags.problem);
  if (choices.size() != 1) {
    throw ValueError("wgrad: trace takes one shape: a name, or sizes by hand");
  }
  if (flags.has_picture) check_picture(flags);
  std::ofstream json = opened("--timeline", flags.timeline);
  std::ofstream picture;
  if (flags.has_picture) picture = opened("--picture", flags.picture);
  harness::Place place =
      harness::place_of({.backend = flags.backend, .sms = flags.sms, .emulated = flags.device});
  const bench::Shape shape = shape_of(flags, choices.front());
  const Problem problem = make_problem(flags.problem, shape);
  const Executable executable =
      prepare(problem, place.device, {.backend = flags.backend, .trace = true});
  const auto counts = choices.front().counts.empty()
                          ? bench::token_counts(shape, flags.problem.seed, 1)
                          : choices.front().counts;
  harness::Workload workload(problem, counts, flags.problem.seed, cpu_device().threads,
                             place.memory);
  std::vector<std::byte> record(static_cast<std::size_t>(executable.workspace_bytes()));
  Operands operands = workload.device_operands();
  harness::Mirror record_there(place.memory, record);
  operands.workspace = record_there.address();
  operands.workspace_bytes = executable.workspace_bytes();
  for (int i = 0; i <= flags.warmup; ++i) {
    record_there.push();  // zeros
    executable.run(operands);
    place.memory->synchronize();
  }
  record_there.pull();
  const Timeline timeline = executable.timeline(record);

  if (picture.is_open()) {
    write_trace_picture(timeline, window_of(flags, timeline), picture);
    check_written(picture, "--picture " + flags.picture);
  }
  write_trace_json(timeline, json);
  check_written(json, "--timeline " + flags.timeline);
  out << fmt::format("{}: E={} M={} N={} T={}\n{}\n{:.2f} us at {:.0f} MHz, {} events{}\n",
                     shape.name, problem.experts, problem.m, problem.n, workload.problem().tokens,
                     timeline.plan, total_us(timeline), timeline.cycles_per_us,
                     timeline.spans.size(),
                     timeline.complete ? "" : "; some tracks had no room for all of theirs");
  print_shares(timeline, out);
  if (flags.warmup > 0 && problem.accumulate) {
    out << "not checked: warm-up runs accumulate too\n";
    return kOk;
  }
  workload.fetch_outputs();
  const harness::CheckResult result = harness::check(workload, kSamples, flags.problem.seed);
  out << harness::checked_text(result.samples) << '\n';
  if (result.ok()) return kOk;
  err << fmt::format("wgrad: {}: {}\n", shape.name, result.failure);
  return kCheckFailed;
}

}  // namespace

void add_trace_command(CLI::App& app, std::function<int()>& command, std::ostream& out,
                       std::ostream& err) {
  const auto flags = std::make_shared<TraceFlags>();
  CLI::App* sub =
      app.add_subcommand("trace", "Show who does what when in one run of the GPU kernel");
  add_problem_flags(*sub, flags->problem, "A name from the shapes file");
  sub->add_option("--backend", flags->backend,
                  "emu (the emulated GPU's modelled time), or cuda (device 0)")
      ->check(CLI::IsMember({"emu", "cuda"}));
  sub->add_option("--device", flags->device, "The emulated GPU: sm90, sm100 or sm103 (sm90)")
      ->check(CLI::IsMember({"sm90", "sm100", "sm103"}));
  add_number(*sub, "--sms", flags->sms, 1, "Multiprocessors of the emulated GPU (2)");
  add_number(*sub, "--warmup", flags->warmup, 0, "Runs before the one that is shown (0)");
  sub->add_option("--timeline", flags->timeline, "File for ui.perfetto.dev (trace.json)");
  CLI::Option* picture = sub->add_option("--picture", flags->picture, "SVG file of one CTA");
  add_number(*sub, "--cta", flags->cta, 0, "The picture's CTA (0)")->needs(picture);
  sub->add_option("--from", flags->from, "Where the picture begins, in us (0)")->needs(picture);
  sub->add_option("--to", flags->to, "Where it ends (the end)")->needs(picture);
  sub->callback([&command, flags, picture, &out, &err] {
    flags->has_picture = picture->count() > 0;
    command = [flags, &out, &err] { return run(*flags, out, err); };
  });
}

}  // namespace wgrad::cli
