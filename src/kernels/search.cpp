#include "kernels/search.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "kernels/family.hpp"

namespace wgrad::kernels {
namespace {

std::string arch_name(int arch) {
  return fmt::format("{}.{}", arch / 10, arch % 10);
}

bool serves(const KernelFamily& family, int arch) {
  return std::any_of(family.architectures.begin(), family.architectures.end(),
                     [&](const Architecture& a) { return a.arch == arch; });
}

/// "9.0 (Hopper), 10.0 (Blackwell)"
std::string served_architectures() {
  std::vector<std::string> names;
  for (const KernelFamily* family : families()) {
    for (const Architecture& a : family->architectures) {
      std::string name = fmt::format("{} ({})", arch_name(a.arch), a.chip);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Compute capability 12: Blackwell too, by name.
bool lacks_tensor_memory(int arch) {
  return arch / 10 == 12;
}

Reason no_kernel_for(int arch) {
  const std::string why =
      lacks_tensor_memory(arch)
          ? "has neither wgmma nor tensor memory (tcgen05), which the kernels multiply with"
          : "has no kernel yet";
  return {"arch", "compute capability", arch_name(arch),
          fmt::format("{}: SM {} {}", served_architectures(), arch_name(arch), why),
          ReasonKind::kMissingCapability};
}

/// Of an architecture that has kernels for others.
Reason no_kernel_of_format(const Problem& p, int arch) {
  return {"format", "dtypes",
          fmt::format("{} and {} with a scale factor for {} of a row", name(p.a_dtype),
                      name(p.b_dtype), scales_whole_rows(p) ? "all tokens" : "128 tokens"),
          fmt::format("of another format: SM {} has no kernel for this one yet", arch_name(arch)),
          ReasonKind::kMissingCapability};
}

Reason unverified(int arch) {
  return {"unverified", "compute capability", arch_name(arch),
          fmt::format(
              "asked for with allow_unverified=True or WGRAD_ALLOW_UNVERIFIED=1: the kernels for "
              "SM {} have been emulated and compiled, but have never run on such a GPU",
              arch_name(arch)),
          ReasonKind::kMissingCapability};
}

Reason unverified_family(const KernelFamily& family, int arch) {
  return {
      "unverified", "compute capability", arch_name(arch),
      fmt::format("asked for with WGRAD_ALLOW_UNVERIFIED=1 or allow_unverified: the kernels of {} "
                  "for such operands have not passed all their tests on such a GPU",
                  family.name),
      ReasonKind::kMissingCapability};
}

std::vector<const KernelFamily*> families_for(const Problem& problem, int arch) {
  std::vector<const KernelFamily*> out;
  std::copy_if(families().begin(), families().end(), std::back_inserter(out),
               [&](const KernelFamily* f) { return serves(*f, arch) && f->takes(problem); });
  return out;
}

struct Found {
  const KernelFamily* family;
  Candidate candidate;
};

std::vector<Found> candidates(const Problem& problem, const DeviceSpec& device) {
  std::vector<Found> out;
  for (const KernelFamily* family : families_for(problem, device.arch)) {
    for (Candidate& c : family->candidates(problem, device)) out.push_back({family, std::move(c)});
  }
  std::stable_sort(out.begin(), out.end(), [](const Found& x, const Found& y) {
    return std::pair(x.candidate.rank, x.candidate.cost) <
           std::pair(y.candidate.rank, y.candidate.cost);
  });
  return out;
}

}  // namespace

std::vector<Reason> limits(const Problem& problem, const DeviceSpec& device) {
  const auto served = families_for(problem, device.arch);
  if (served.empty()) {
    const bool known = std::any_of(families().begin(), families().end(), [&](const auto* family) {
      return serves(*family, device.arch);
    });
    return {known ? no_kernel_of_format(problem, device.arch) : no_kernel_for(device.arch)};
  }
  std::vector<Reason> fewest = served.front()->limits(problem, device);
  for (std::size_t i = 1; i < served.size() && !fewest.empty(); ++i) {
    std::vector<Reason> reasons = served[i]->limits(problem, device);
    if (reasons.size() < fewest.size()) fewest = std::move(reasons);
  }
  return fewest;
}

std::vector<Reason> limits_on_silicon(const Problem& problem, const DeviceSpec& device) {
  std::vector<Reason> out = limits(problem, device);
  if (!out.empty() || device.allow_unverified) return out;
  const auto served = families_for(problem, device.arch);
  if (never_ran(device.arch)) {
    out.push_back(unverified(device.arch));
  } else if (std::none_of(served.begin(), served.end(),
                          [](const KernelFamily* f) { return f->ran_on_silicon; })) {
    out.push_back(unverified_family(*served.front(), device.arch));
  }
  return out;
}

bool never_ran(int arch) {
  bool any = false, ran = false;
  for (const KernelFamily* family : families()) {
    if (!serves(*family, arch)) continue;
    any = true;
    ran = ran || family->ran_on_silicon;
  }
  return any && !ran;
}

std::vector<plan::Plan> plans(std::string_view backend, const Problem& problem,
                              const DeviceSpec& device) {
  std::vector<plan::Plan> out;
  for (Found& found : candidates(problem, device)) {
    out.push_back({.backend = std::string(backend),
                   .family = found.family,
                   .config = std::move(found.candidate.config),
                   .summary = std::move(found.candidate.summary),
                   .workspace = std::move(found.candidate.workspace),
                   .predicted_ms = found.candidate.predicted_ms,
                   .bound = std::string(found.candidate.bound)});
  }
  return out;
}

}  // namespace wgrad::kernels
