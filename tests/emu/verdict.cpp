#include "emu/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "backends/emu_launch.hpp"
#include "support/instance.hpp"

namespace wgrad::test {

Verdict verdict(const KernelCase& k) {
  const backends::EmuKernel& kernel = kernels()[k.kernel];
  const Case full = full_case(kernel.config, k);
  if (!backends::serves(kernel.config, full.problem))
    return {"the kernel does not serve this case", {}};
  const CaseData data(full);
  Instance instance(data, host_device());
  shared::FaultRecord record{};
  backends::EmuSettings settings;
  settings.sm_count = k.sms;
  settings.claim_tiles = k.seed % 4 != 1;
  settings.adversary = {.seed = k.seed, .step_limit = 20'000'000};
  const emu::Outcome outcome =
      backends::launch_emulated(kernel, full.problem, instance.operands(), settings, record);
  if (outcome.fault) return {outcome.fault->text(), outcome.stats};
  if (record.kind != 0) {
    return {fmt::format("the kernel reports data fault {}", record.kind), outcome.stats};
  }
  const Bytes got = instance.output(), want = oracle_output(data);
  const auto different = std::mismatch(got.begin(), got.end(), want.begin()).first;
  if (different == got.end()) return {"", outcome.stats};
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
