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

std::vector<Reason> broken_rules(const Problem& problem, const DeviceSpec& device) {
  std::vector<Reason> broken = validate::broken_rules(problem);
  std::vector<Reason> of_device = validate::broken_rules(device);
  broken.insert(broken.end(), std::make_move_iterator(of_device.begin()),
                std::make_move_iterator(of_device.end()));
  return broken;
}

Choice choose(const Problem& problem, const DeviceSpec& device, std::string_view wanted) {
  Choice choice;
  choice.reasons = broken_rules(problem, device);
  if (!choice.reasons.empty()) return choice;
  bool known = wanted.empty();
  for (const backends::Backend* backend : backends::all()) {
    const bool named = backend->name() == wanted;
    known = known || named;
    if (wanted.empty() ? backend->only_by_name() : !named) continue;
    std::vector<Reason> limits = backend->limits(problem, device);
    if (limits.empty()) return {backend, backend->candidates(problem, device).front(), {}};
    choice.reasons.insert(choice.reasons.end(), std::make_move_iterator(limits.begin()),
                          std::make_move_iterator(limits.end()));
  }
  if (wanted.empty()) drop_foreign_backends(choice.reasons);
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
  if (!support) return support;
  Operands operands;
  operands.tokens = problem.tokens;
  operands.a_ld = lds.a;
  operands.b_ld = lds.b;
  validate::check_leading_dimensions(support.reasons, problem, operands);
  return support;
}

Support check_operands(const Problem& problem, const Operands& operands) {
  Support support{validate::broken_rules(problem)};
  if (support) support.reasons = validate::broken_rules(problem, operands, 0);
  return support;
}

Support check_addresses(const Problem& problem, const Operands& operands,
                        std::span<const std::int64_t> addresses) {
  Support support{validate::broken_rules(problem)};
  if (support) support.reasons = validate::broken_data_rules(problem, operands, {}, addresses);
  return support;
}

}  // namespace wgrad
