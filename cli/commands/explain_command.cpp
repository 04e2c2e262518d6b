#include "cli/commands/explain_command.hpp"

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
#include "cli/text/numbers.hpp"
#include "cli/text/table.hpp"
#include "harness/gpu_by_name.hpp"
#include "wgrad/device_spec.hpp"
#include "wgrad/errors.hpp"
#include "wgrad/explain.hpp"
#include "wgrad/support.hpp"

namespace wgrad::cli {
namespace {

struct ExplainFlags {
  ProblemFlags problem;
  std::string device = "cpu";
  int sms = 0;
  int sm_limit = 0;
  int threads = 0;
  bool json = false;
};

DeviceSpec described(const std::string& device) {
  if (device == "cpu") return cpu_device();
  return device == "cuda" ? cuda_device(0) : harness::gpu_by_name(device);
}

DeviceSpec device_of(const ExplainFlags& flags) {
  const bool cpu = flags.device == "cpu";
  if (cpu && flags.sms > 0) throw ValueError("wgrad: --sms is for a GPU; --device is cpu");
  if (cpu && flags.sm_limit > 0)
    throw ValueError("wgrad: --sm-limit is for a GPU; --device is cpu");
  if (!cpu && flags.threads > 0) {
    throw ValueError(fmt::format("wgrad: --threads is for a CPU; --device is {}", flags.device));
  }
  DeviceSpec device = described(flags.device);
  if (flags.threads > 0) device.threads = flags.threads;
  if (flags.sms > 0) device.sm_count = flags.sms;
  device.sm_limit = flags.sm_limit;
  return device;
}

struct Answer {
  bench::Shape shape;
  Problem problem;
  Support support;
  Explanation explanation;
};

std::string reasons_text(const std::vector<Reason>& reasons) {
  std::string text;
  for (const Reason& reason : reasons) text += (text.empty() ? "" : "; ") + to_string(reason);
  return text;
}

void print_answer(const Answer& a, std::ostream& out) {
  out << fmt::format("{}: E {}, M {}, N {}, T {}: {}\n", a.shape.name, a.problem.experts,
                     a.problem.m, a.problem.n, a.problem.tokens,
                     a.support ? "supported" : "not supported");
  Table table({"", "backend", "plan", "predicted ms", "bound", "reasons"});
  bool chosen = static_cast<bool>(a.support);
  for (const Candidate& c : a.explanation.candidates) {
    table.add({chosen ? "*" : "", c.backend.empty() ? "(none)" : c.backend,
               c.plan.empty() ? "-" : c.plan,
               c.predicted_ms > 0 ? fmt::format("{:.3f}", c.predicted_ms) : "-",
               c.bound.empty() ? "-" : c.bound,
               c.on_request ? "only with --backend " + c.backend : reasons_text(c.reasons)});
    chosen = false;
  }
  out << table.text();
  for (const std::string& note : a.explanation.notes) out << "note: " << note << '\n';
  out << '\n';
}

nlohmann::json to_json(const std::vector<Reason>& reasons) {
  auto list = nlohmann::json::array();
  for (const Reason& r : reasons) {
    list.push_back({{"rule", r.rule}, {"field", r.field}, {"got", r.got}, {"need", r.need}});
  }
  return list;
}

nlohmann::json to_json(const Answer& a) {
  auto candidates = nlohmann::json::array();
  for (const Candidate& c : a.explanation.candidates) {
    candidates.push_back({{"backend", c.backend},
                          {"plan", c.plan},
                          {"predicted_ms", c.predicted_ms},
                          {"bound", c.bound},
                          {"reasons", to_json(c.reasons)},
                          {"on_request", c.on_request}});
  }
  return {{"shape", a.shape.name},
          {"experts", a.problem.experts},
          {"m", a.problem.m},
          {"n", a.problem.n},
          {"tokens", a.problem.tokens},
          {"supported", static_cast<bool>(a.support)},
          {"reasons", to_json(a.support.reasons)},
          {"candidates", candidates},
          {"notes", a.explanation.notes}};
}

/// A problem does not say how far apart rows lie. Those of `wgrad run` are packed.
void note_packed_rows(Answer& answer, const DeviceSpec& device) {
  if (!answer.support) return;
  for (const Reason& reason : check_support(answer.problem, device, "", {}).reasons) {
    answer.explanation.notes.push_back("not with packed rows, as `wgrad run` has them: " +
                                       to_string(reason));
  }
}

std::vector<Answer> answers_to(const ExplainFlags& flags, const DeviceSpec& device) {
  std::vector<Answer> answers;
  for (const ShapeChoice& choice : chosen_shapes(flags.problem)) {
    const double factor = scale_factor(flags.problem, false).value_or(1.0);
    const bench::Shape shape = scaled(choice.shape, factor);
    const Problem problem = make_problem(flags.problem, shape);
    answers.push_back({shape, problem, check_support(problem, device), explain(problem, device)});
    note_packed_rows(answers.back(), device);
  }
  return answers;
}

int run(const ExplainFlags& flags, std::ostream& out) {
  const DeviceSpec device = device_of(flags);
  const std::vector<Answer> answers = answers_to(flags, device);
  if (flags.json) {
    auto shapes = nlohmann::json::array();
    for (const Answer& answer : answers) shapes.push_back(to_json(answer));
    out << nlohmann::json{{"device", device.name}, {"shapes", shapes}}.dump(2) << '\n';
    return kOk;
  }
  out << fmt::format("device: {}\n\n", device.name);
  for (const Answer& answer : answers) print_answer(answer, out);
  return kOk;
}

}  // namespace

void add_explain_command(CLI::App& app, std::function<int()>& command, std::ostream& out) {
  const auto flags = std::make_shared<ExplainFlags>();
  CLI::App* sub = app.add_subcommand("explain", "Show what the planner chooses, and why");
  add_problem_flags(*sub, flags->problem);
  sub->add_option("--device", flags->device,
                  "cpu or cuda of this machine (its first GPU), or sm90, sm100 or sm103 by hand")
      ->check(CLI::IsMember({"cpu", "cuda", "sm90", "sm100", "sm103"}));
  add_number(*sub, "--sms", flags->sms, 1, "Multiprocessors of the GPU");
  add_number(*sub, "--sm-limit", flags->sm_limit, 1, "Multiprocessors a launch may use");
  add_number(*sub, "--threads", flags->threads, 1, "Threads of the CPU");
  sub->add_flag("--json", flags->json, "JSON instead of a table");
  sub->callback([&command, flags, &out] { command = [flags, &out] { return run(*flags, out); }; });
}

}  // namespace wgrad::cli
