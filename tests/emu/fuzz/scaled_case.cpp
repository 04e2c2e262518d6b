#include "emu/fuzz/scaled_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "emu/fuzz/scaled_plan.hpp"
#include "harness/cases/instance.hpp"
#include "harness/random.hpp"
#include "launch/emulated_launch.hpp"
#include "scales/codec.hpp"
#include "support/check.hpp"
#include "support/harness.hpp"
#include "support/planned/emulated_device.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::test {
namespace {

using shared::ElementType;
using shared::ScaledConfig;

DType dtype_of(ElementType t) {
  return t == ElementType::kE4m3   ? DType::kE4m3
         : t == ElementType::kE5m2 ? DType::kE5m2
                                   : DType::kE2m1;
}
Major major_of(shared::OperandLayout raw) {
  return shared::is_mn_major(raw) ? Major::kMn : Major::kK;
}

Problem problem_for(const ScaledConfig& c) {
  Problem p;
  p.a_dtype = dtype_of(c.element_a);
  p.b_dtype = dtype_of(c.element_b);
  p.a_major = major_of(c.raw_a);
  p.b_major = major_of(c.raw_b);
  constexpr auto kRagged = shared::OperandLayout::kKMajorRagged;
  p.input_order =
      c.raw_a == kRagged || c.raw_b == kRagged ? InputOrder::kTensorRagged : InputOrder::kTensor2d;
  p.scales = ScaleSpec{
      c.scale == shared::ScaleType::kE8m0 ? DType::kE8m0 : DType::kE4m3, c.vec_size,
      c.storage == shared::ScaleStorage::kAtoms ? ScaleLayout::kSwizzled : ScaleLayout::kCompact,
      c.global_scale};
  p.wgrad_dtype = c.output == shared::OutputType::kFp32   ? DType::kF32
                  : c.output == shared::OutputType::kFp16 ? DType::kF16
                                                          : DType::kBf16;
  p.output_mode =
      c.output_mode == shared::OutputMode::kDense ? OutputMode::kDense : OutputMode::kDiscrete;
  p.accumulate = c.accumulate;
  return p;
}

/// Scale codes from one end of the range to the other; some NaN, some infinite elements.
void widen(LogicalOperand& o, Random& random, double chance) {
  constexpr int kCodes[] = {0,   1,   2,   3,   9,   10,  11,  50,  100, 126, 127, 128,
                            134, 135, 142, 143, 200, 239, 240, 246, 247, 252, 253, 254};
  for (std::uint32_t& code : o.scale_codes) {
    if (!random.chance(chance)) continue;
    const bool e8m0 = o.scale_dtype == DType::kE8m0;
    const auto any = static_cast<int>(random.integer(0, 0x7e));
    code = static_cast<std::uint8_t>(random.chance(0.001) ? 0xff
                                     : e8m0               ? random.pick(kCodes)
                                                          : any);
  }
  if (o.dtype == DType::kE2m1) return;
  constexpr int kSpecial[] = {0x7f, 0xff, 0x7c, 0xfc, 0x7e, 0xfe};
  for (std::uint16_t& code : o.codes) {
    if (random.chance(0.0005)) code = static_cast<std::uint16_t>(random.pick(kSpecial));
  }
}

Case random_case(const ScaledConfig& c, std::uint64_t number) {
  Random random(number * 7919 + 1);
  Case out;
  out.problem = problem_for(c);
  const bool wide = number % 2 == 1;
  out.problem.m = random.integer(1, wide ? 9 : 20) * 16;
  out.problem.n = random.integer(1, wide ? 9 : 20) * 16;
  for (std::int64_t e = random.integer(1, 4); e > 0; --e)
    out.counts.push_back(random.chance(0.2) ? 0 : random.integer(1, 300));
  out.counts = fit_counts(out.problem, out.counts);
  out.slack = random.integer(0, 3) * 2;
  out.a_pad = random.integer(0, 2);
  out.b_pad = random.integer(0, 2);
  if (random.chance(0.5)) {  // rows that the copy engine takes
    const std::int64_t total = tokens(out);
    out.slack += round_up(total, std::int64_t{32}) - total;
    out.a_pad = out.b_pad = 0;
  }
  out.scale_col_pad = random.integer(0, 2);
  out.seed = number;
  if (!wide) return out;
  out.data = DataKind::kNormal;
  const double chance = random.pick({0.0, 0.02, 0.3, 1.0});
  out.adjust = [=](LogicalData& data) {
    Random values(number);
    widen(data.a, values, chance);
    widen(data.b, values, chance);
  };
  return out;
}

/// What one sum is, beside the sum of its terms' magnitudes.
struct Sum {
  double value = 0;
  double magnitude = 0;
  double scale = 0;  ///< the largest by which a product is multiplied, where it matters
};
double scale_of(const LogicalOperand& o, std::int64_t row, std::size_t e, std::int64_t k) {
  return scales::decode(o.scale_dtype, o.scale_code(row, o.first_cols[e] + k / o.vec_size));
}
Sum sum_of(const LogicalData& data, std::size_t e, std::int64_t count, std::int64_t i,
           std::int64_t j) {
  Sum sum;
  for (std::int64_t k = 0; k < count; ++k) {
    const double product = data.a.value(i, e, k) * data.b.value(j, e, k);
    sum.value += product;
    sum.magnitude += std::abs(product);
    if (zeros_have_exponents() && data.a.dtype == DType::kE2m1)
      sum.scale = std::max(sum.scale, scale_of(data.a, i, e, k) * scale_of(data.b, j, e, k));
  }
  return sum;
}

/// The largest finite number of the output's dtype.
double largest_finite(const CaseData& data) {
  const DType dtype = data.source.problem.wgrad_dtype;
  return dtype == DType::kF16 ? 65504.0 : dtype == DType::kBf16 ? 0x1.FEp127 : 0x1.FFFFFEp127;
}

/// Where the terms of a sum leave FP32, any infinity or NaN is right.
bool is_close(const CaseData& data, double got, double want, const Sum& sum, double factor) {
  if (std::isnan(want)) return std::isnan(got);
  if (!(sum.magnitude < 0x1p127) || !(sum.magnitude * factor < 0x1p127)) return true;
  const int digits = data.source.problem.wgrad_dtype == DType::kF32   ? 22
                     : data.source.problem.wgrad_dtype == DType::kF16 ? 10
                                                                      : 7;
  // Where terms cancel, the rest is what FP32 has left of them.
  const double lost = std::ldexp(sum.magnitude * factor, -18) + std::ldexp(sum.scale * factor, -30);
  if (std::isinf(got) && std::abs(want) + lost > largest_finite(data)) return true;
  if (std::isinf(want)) return got == want || std::abs(sum.value * factor) <= lost + 65536;
  return std::abs(got - want) <= std::ldexp(std::abs(want), -digits) + lost + 0x1p-24;
}

std::string judge_wide(const CaseData& data, const Bytes& got, const Bytes& want) {
  const Case& c = data.source;
  const DType dtype = c.problem.wgrad_dtype;
  const auto value = [&](const Bytes& bytes, std::int64_t at) {
    std::uint32_t code = 0;
    std::memcpy(&code, bytes.data() + at, static_cast<std::size_t>(bits(dtype)) / 8);
    return scales::decode(dtype, code);
  };
  for (std::size_t e = 0; e < c.counts.size(); ++e) {
    const bool global = !data.logical.a.global_scales.empty();
    const double factor =
        global ? std::abs(double{data.logical.a.global_scales[e]} * data.logical.b.global_scales[e])
               : 1.0;
    for (std::int64_t i = 0; i < c.problem.m; ++i) {
      for (std::int64_t j = 0; j < c.problem.n; ++j) {
        const std::int64_t at = data.output.cell_offset(static_cast<std::int64_t>(e), i, j);
        const Sum sum = sum_of(data.logical, e, c.counts[e], i, j);
        if (is_close(data, value(got, at), value(want, at), sum, factor)) continue;
        return fmt::format("Wgrad[{}][{}][{}] is {}, the oracle has {} (terms sum up to {})", e, i,
                           j, value(got, at), value(want, at), sum.magnitude);
      }
    }
  }
  return "";
}

}  // namespace

std::string scaled_verdict(std::size_t index, std::uint64_t number) {
  const kernels::sm90_scaled::CompiledKernel& kernel = scaled_kernels()[index];
  const Case c = random_case(kernel.config, number);
  const CaseData data(c);
  Instance instance(data, host_device());
  const plan::Plan plan = scaled_plan(index, problem(c), 1 + static_cast<int>(number % 3));
  launch::EmulatedSettings settings;
  settings.launches = c.problem.accumulate ? 1 : 1 + number / 2 % 2;
  settings.claim_tiles = number % 5 != 0;
  settings.adversary.seed = number;
  shared::FaultRecord fault{};
  const emu::Outcome outcome =
      launch::launch_emulated(kernel.run, problem(c), plan, instance.operands(), settings, fault);
  std::string wrong;
  if (outcome.fault) {
    wrong = outcome.fault->text();
  } else if (c.data == DataKind::kNormal) {
    wrong = judge_wide(data, instance.output(), oracle_output(data));
  } else if (const auto same = same_image(data, instance.output(), oracle_output(data)); !same) {
    wrong = same.message();
  }
  return wrong.empty() ? "" : fmt::format("{}\n  {}", wrong, describe(c));
}

}  // namespace wgrad::test
