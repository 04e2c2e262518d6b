#include "support/random_case.hpp"

#include <algorithm>
#include <cmath>

#include "harness/random.hpp"

namespace wgrad::test {
namespace {

/// Log-uniform in [1, high].
std::int64_t up_to(Random& random, double high) {
  return static_cast<std::int64_t>(std::exp(random.uniform() * std::log(high + 0.99)));
}

std::vector<std::int64_t> random_counts(Random& random, std::int64_t experts, std::int64_t budget) {
  const double empty = random.chance(0.5) ? 0.1 : 0.6;
  std::vector<std::int64_t> counts;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t most = std::max<std::int64_t>(2 * budget / experts, 1);
    const std::int64_t count =
        random.chance(empty) ? 0 : std::min(up_to(random, static_cast<double>(most)), budget);
    counts.push_back(count);
    budget -= count;
  }
  return counts;
}

void random_output(Problem& p, Random& random) {
  constexpr DType kDTypes[] = {DType::kBf16, DType::kF16, DType::kF32};
  p.wgrad_dtype = random.pick(kDTypes);
  p.accumulate = random.chance(0.5);
  const std::int64_t unit = 128 / bits(p.wgrad_dtype);
  if (random.chance(0.4)) {
    p.output_mode = OutputMode::kDiscrete;
    p.n = (p.n + unit - 1) / unit * unit;
    return;
  }
  const std::int64_t least = (p.n + unit - 1) / unit * unit;
  if (least != p.n || random.chance(0.4)) {
    p.wgrad_row_pitch = least + unit * random.integer(0, 3);
  }
  if (random.chance(0.4)) {
    p.wgrad_expert_stride = p.m * row_pitch(p) + unit * random.integer(0, 9);
  }
}

}  // namespace

Case random_case(std::uint64_t seed, double max_products) {
  Random random(seed);
  Case c;
  c.seed = seed;
  const NamedFormat& format = formats()[random.next() % formats().size()];
  c.problem = problem_of(format, up_to(random, 300), up_to(random, 300));
  Problem& p = c.problem;
  if (!is_k_major(format)) {
    p.a_major = random.chance(0.5) ? Major::kK : Major::kMn;
    p.b_major = random.chance(0.5) ? Major::kK : Major::kMn;
  }
  if (random.chance(0.4)) p.input_order = InputOrder::kTensorRagged;
  if (p.scales) {
    if (random.chance(0.3)) p.scales->layout = ScaleLayout::kCompact;
    p.scales->global_scale = p.scales->global_scale || random.chance(0.3);
    if (scales_whole_rows(p)) {
      p.scales->global_scale = false;
      p.fast_accumulation = random.chance(0.3);
    }
  }
  random_output(p, random);
  const std::int64_t experts =
      std::min(up_to(random, 300),
               static_cast<std::int64_t>(max_products / static_cast<double>(p.m * p.n)) + 1);
  const double budget = std::min(max_products / static_cast<double>(p.m * p.n), 3000.0);
  c.counts = fit_counts(p, random_counts(random, experts, static_cast<std::int64_t>(budget)));
  c.slack = random.chance(0.5) ? random.integer(0, 70) : 0;
  c.a_pad = random.chance(0.3) ? random.integer(1, 4) : 0;
  c.b_pad = random.chance(0.3) ? random.integer(1, 4) : 0;
  c.scale_col_pad = random.chance(0.3) ? random.integer(1, 3) : 0;
  c.scale_padding = random.chance(0.8) ? 0xFF : 0x00;
  c.poison = random.chance(0.7) ? Poison::kNan : Poison::kInfinity;
  c.data = random.chance(0.7) ? DataKind::kIntegers : DataKind::kNormal;
  p.workspace = random.chance(0.3);
  return c;
}

}  // namespace wgrad::test
