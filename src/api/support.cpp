#include "wgrad/support.hpp"

#include <fmt/format.h>

#include <iterator>

#include "api/choice.hpp"
#include "validate/data_rules.hpp"
#include "validate/device_rules.hpp"
#include "validate/operand_rules.hpp"
#include "validate/problem_rules.hpp"

namespace wgrad {
namespace api {
namespace {

Reason no_such_backend(std::string_view wanted) {
  std::string names;
  for (const backends::Backend* backend : backends::all()) {
    if (!names.empty()) names += ", ";
    names += backend->name();
  }
  return {"backend", "backend", fmt::format("'{}'", wanted), "one of " + names};
}

/// Backends for other kinds of device have nothing to say to who named none.
void drop_foreign_backends(std::vector<Reason>& reasons) {
  std::erase_if(reasons, [](const Reason& reason) { return reason.rule == "device"; });
}

/// A build may leave every backend but the reference out.
Reason no_backend(const DeviceSpec& device) {
  return {"device", "device", fmt::format("'{}'", device.name),
          "one that a backend of this build computes on", ReasonKind::kMissingCapability};
}

}  // namespace

void append(std::vector<Reason>& reasons, std::vector<Reason> more) {
  reasons.insert(reasons.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
}

std::vector<Reason> broken_rules(const Problem& problem, const DeviceSpec& device) {
  std::vector<Reason> broken = validate::broken_rules(problem);
  append(broken, validate::broken_rules(device));
  return broken;
}

Choice choose(const Problem& problem, const DeviceSpec& device, std::string_view wanted) {
  Choice choice;
  choice.reasons = broken_rules(problem, device);
  const bool judged = choice.reasons.empty();
  bool known = wanted.empty();
  for (const backends::Backend* backend : backends::all()) {
    const bool named = backend->name() == wanted;
    known = known || named;
    if (!judged) continue;  // a backend's limits are those of a problem within the contract
    if (wanted.empty() ? backend->only_by_name() : !named) continue;
    std::vector<Reason> limits = backend->limits(problem, device);
    if (limits.empty()) return {backend, backend->candidates(problem, device).front(), {}};
    append(choice.reasons, std::move(limits));
  }
  if (judged && wanted.empty()) drop_foreign_backends(choice.reasons);
  if (!known) choice.reasons.push_back(no_such_backend(wanted));
  if (choice.reasons.empty()) choice.reasons.push_back(no_backend(device));
  return choice;
}

}  // namespace api

Support check_support(const Problem& problem, const DeviceSpec& device, std::string_view backend) {
  return {api::choose(problem, device, backend).reasons};
}

Support check_support(const Problem& problem, const DeviceSpec& device, std::string_view backend,
                      const LeadingDimensions& lds) {
  Support support = check_support(problem, device, backend);
  if (!validate::operands_can_be_judged(problem)) return support;
  Operands operands;
  operands.tokens = problem.tokens;
  operands.a_ld = lds.a;
  operands.b_ld = lds.b;
  validate::check_leading_dimensions(support.reasons, problem, operands);
  return support;
}

Support check_operands(const Problem& problem, const Operands& operands) {
  Support support{validate::broken_rules(problem)};
  if (!validate::operands_can_be_judged(problem)) return support;
  api::append(support.reasons, validate::broken_rules(problem, operands, 0));
  return support;
}

Support check_data(const Problem& problem, const Operands& operands,
                   std::span<const std::int32_t> offsets, std::span<const std::int64_t> addresses) {
  Support support{validate::broken_rules(problem)};
  if (!validate::operands_can_be_judged(problem)) return support;
  api::append(support.reasons, validate::broken_data_rules(problem, operands, offsets, addresses));
  return support;
}

}  // namespace wgrad
