#include "emu/fuzz/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "emu/fuzz/kernel_plan.hpp"
#include "emu/fuzz/trace_check.hpp"
#include "harness/cases/instance.hpp"
#include "launch/emulated_launch.hpp"
#include "wgrad/shared/token_split.hpp"

namespace wgrad::test {
namespace {

using shared::FaultKind;
using shared::FaultRecord;

constexpr std::uint8_t kDirty = 0xA5;  // contents of a workspace before a launch

// Operands as the case breaks them, and what the kernel must note of them.
struct BrokenData {
  std::vector<std::int32_t> offsets;
  std::vector<std::int64_t> pointers;
  FaultRecord expected{};
};

std::optional<BrokenData> broken_data(const KernelCase& k, const Case& full, const Operands& o) {
  const auto experts = static_cast<std::int32_t>(k.counts.size());
  const std::int32_t last = experts - 1;
  BrokenData data;
  data.offsets = offsets(full);
  std::int32_t& end = data.offsets.back();
  const std::int32_t begin = experts > 1 ? data.offsets[static_cast<std::size_t>(last) - 1] : 0;
  const auto noted = [&](FaultKind kind, std::int32_t expert, std::int64_t value,
                         std::int64_t limit) {
    data.expected = {static_cast<std::int32_t>(kind), expert, value, limit};
  };
  const auto pointer = [&](std::int64_t value, FaultKind kind) {
    data.pointers.assign(o.wgrad_ptrs, o.wgrad_ptrs + experts);
    const std::size_t expert = broken_pointer(k);
    data.pointers[expert] = value;
    noted(kind, static_cast<std::int32_t>(expert), value, value == 0 ? 0 : 16);
  };
  switch (k.broken) {
    case Broken::kNothing:
      return data;
    case Broken::kOffsetDecreases:
      if (k.counts.back() != 0 || begin == 0) return std::nullopt;
      end = 0;
      noted(FaultKind::kOffsetDecreases, last, end, begin);
      return data;
    case Broken::kOffsetNegative:
      if (k.counts.back() != 0) return std::nullopt;
      end = -5;
      noted(FaultKind::kOffsetNegative, last, end, 0);
      return data;
    case Broken::kOffsetBeyond:
      if (k.slack != 0) return std::nullopt;
      end += 7;
      noted(FaultKind::kOffsetBeyond, last, end, o.tokens);
      return data;
    case Broken::kOffsetsNegative:
      if (covered_tokens(full) != 0) return std::nullopt;
      for (std::int32_t e = 0; e < experts; ++e) data.offsets[static_cast<std::size_t>(e)] = -1 - e;
      noted(FaultKind::kOffsetNegative, -1, 0, 0);
      return data;
    case Broken::kPointerNull:
      pointer(0, FaultKind::kPointerNull);
      return data;
    case Broken::kPointerAlignment:
      pointer(o.wgrad_ptrs[broken_pointer(k)] + 8, FaultKind::kPointerAlignment);
      return data;
  }
  return std::nullopt;
}

// Of many faults any may have come first, but all of it.
bool as_expected(const FaultRecord& got, FaultRecord want) {
  if (want.expert < 0 && got.expert >= 0) {
    want.expert = got.expert;
    want.value = -1 - got.expert;
  }
  return got.kind == want.kind && got.expert == want.expert && got.value == want.value &&
         got.limit == want.limit;
}

// The oracle's image; of an expert that cannot be stored, what was there before.
Bytes wanted(const KernelCase& k, const CaseData& data) {
  Bytes want = oracle_output(data);
  if (k.broken != Broken::kPointerNull && k.broken != Broken::kPointerAlignment) return want;
  const Problem& p = data.source.problem;
  const std::int64_t size = bits(p.wgrad_dtype) / 8;
  const std::int64_t at = data.output.expert_offset(broken_pointer(k));
  const auto from = data.output.bytes().begin() + at;
  std::copy(from, from + ((p.m - 1) * row_pitch(p) + p.n) * size, want.begin() + at);
  return want;
}

/// The oracle's NaN where the kernel has another one: which of them is no promise.
void accept_nans(const CaseData& data, Bytes& got, const Bytes& want) {
  const Problem& p = data.source.problem;
  for (std::size_t e = 0; e < data.source.counts.size(); ++e) {
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        const std::int64_t at = data.output.cell_offset(e, i, j);
        if (std::isnan(read_value(want, at, p.wgrad_dtype)) &&
            std::isnan(read_value(got, at, p.wgrad_dtype)))
          std::copy_n(want.begin() + at, bits(p.wgrad_dtype) / 8, got.begin() + at);
      }
    }
  }
}

/// "" where sums were left in the workspace if, and only if, an expert's tokens make two parts or
/// more: of exact sums no result tells.
std::string parts_fault(const KernelCase& k, const plan::Plan& plan, const Bytes& workspace) {
  if (workspace.empty() || k.broken != Broken::kNothing) return "";
  const auto& launch = plan.config.as<kernels::sm90::LaunchConfig>();
  const auto is_split = [&](std::int64_t tokens) {
    return shared::token_parts(launch.token_split, static_cast<shared::u32>(tokens)) > 1;
  };
  const bool split = std::any_of(k.counts.begin(), k.counts.end(), is_split);
  const auto counters = shared::sum_counters_bytes(launch.kernel, launch.token_split);
  const bool left = std::any_of(workspace.begin() + static_cast<std::ptrdiff_t>(counters),
                                workspace.end(), [](std::uint8_t b) { return b != kDirty; });
  if (split == left) return "";
  return split ? "an expert's parts left no sums" : "sums were left of experts that have one part";
}

}  // namespace

Verdict verdict(const KernelCase& k) {
  const kernels::sm90::CompiledKernel& kernel = kernels()[k.kernel];
  const Case full = full_case(kernel.config, k);
  const auto plan = case_plan(k, full.problem);
  if (!plan) return {"the kernel does not serve this case", {}};
  const CaseData data(full);
  Instance instance(data, host_device());
  const auto broken = broken_data(k, full, instance.operands());
  if (!broken) return {"the kernel does not serve this case", {}};
  instance.operands().offsets = broken->offsets.data();
  if (!broken->pointers.empty()) instance.operands().wgrad_ptrs = broken->pointers.data();
  std::vector<shared::TraceEvent> trace = trace_room(kernel.config, k.sms);
  instance.operands().workspace = trace.data();
  instance.operands().workspace_bytes =
      static_cast<std::int64_t>(trace.size() * sizeof(shared::TraceEvent));
  FaultRecord record{};
  Bytes sums;
  if (kernel.config.workspace_split) {  // of any contents
    sums.assign(static_cast<std::size_t>(plan::workspace_bytes(*plan)), kDirty);
    instance.operands().workspace = sums.data();
    instance.operands().workspace_bytes = static_cast<std::int64_t>(sums.size());
  }
  launch::EmulatedSettings settings;
  settings.claim_tiles = k.seed % 4 != 1;
  settings.adversary = {.seed = k.seed, .step_limit = 20'000'000};
  // A second launch behind it must leave the same.
  if (!kernel.config.accumulate && !kernel.config.trace && k.seed % 5 == 3) settings.launches = 2;
  const bool timed = kernel.config.trace && k.seed % 4 == 2;
  if (timed) settings.adversary.timing = emu::Timing::kModel;
  const emu::Outcome outcome = launch::launch_emulated(kernel.run, full.problem, *plan,
                                                       instance.operands(), settings, record);
  if (outcome.fault) return {outcome.fault->text(), outcome.stats};
  if (!as_expected(record, broken->expected)) {
    return {fmt::format("the kernel reports data fault {} of expert {}: {}, limit {}", record.kind,
                        record.expert, record.value, record.limit),
            outcome.stats};
  }
  Bytes got = instance.output();
  const Bytes want = wanted(k, data);
  if (k.foreign == Foreign::kNanA || k.foreign == Foreign::kNanB) accept_nans(data, got, want);
  const auto different = std::mismatch(got.begin(), got.end(), want.begin()).first;
  if (different == got.end()) {
    return {kernel.config.trace ? trace_fault(kernel.config, k, timed, trace)
                                : parts_fault(k, *plan, sums),
            outcome.stats};
  }
  return {fmt::format("wrong result: first at byte {} of {} of the output image",
                      different - got.begin(), got.size()),
          outcome.stats};
}

KernelCase shrink(KernelCase best) {
  const auto fails = [](const KernelCase& c) {
    const std::string v = verdict(c).text;
    return !v.empty() && v.find("does not serve") == std::string::npos;
  };
  const auto attempt = [&](auto change) {
    KernelCase smaller = best;
    change(smaller);
    if (arguments(smaller) == arguments(best) || !fails(smaller)) return false;
    best = smaller;
    return true;
  };
  const shared::Config& c = kernels()[best.kernel].config;
  bool again = true;
  while (again) {
    again = false;
    for (std::size_t e = 0; e < best.counts.size() && best.counts.size() > 1; ++e) {
      again |=
          attempt([&](KernelCase& k) { k.counts.erase(k.counts.begin() + static_cast<long>(e)); });
    }
    for (std::size_t e = 0; e < best.counts.size(); ++e) {
      again |= attempt([&](KernelCase& k) { k.counts[e] /= 2; });
    }
    again |= attempt([](KernelCase& k) { k.slack = k.a_pad = k.b_pad = k.pitch_pad = 0; });
    again |= attempt([](KernelCase& k) { k.raster_m = 0; });
    again |= attempt([&](KernelCase& k) {
      k.m = std::max(unit_of(c.a), k.m / 2 / unit_of(c.a) * unit_of(c.a));
    });
    again |= attempt([&](KernelCase& k) {
      k.n = std::max(unit_of(c.b), k.n / 2 / unit_of(c.b) * unit_of(c.b));
    });
  }
  return best;
}

std::string smallest_failure(const KernelCase& c) {
  const KernelCase small = shrink(c);
  return fmt::format("smallest: {}\nreplay: emu_fuzz {}\n", verdict(small).text, arguments(small));
}

}  // namespace wgrad::test
