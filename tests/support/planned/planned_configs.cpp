#include "support/planned/planned_configs.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "core/field_text.hpp"
#include "kernels/sm100/config.hpp"
#include "kernels/sm90/config.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/problem.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::test {

using shared::Config;

std::vector<Problem> planned_problems() {
  std::vector<Problem> out(1);
  const auto vary = [&](auto set, auto... values) {
    std::vector<Problem> grown;
    for (const Problem& p : out) {
      for (const auto value : {values...}) set(grown.emplace_back(p), value);
    }
    out = std::move(grown);
  };
  vary([](Problem& p, Major x) { p.a_major = x; }, Major::kMn, Major::kK);
  vary([](Problem& p, Major x) { p.b_major = x; }, Major::kMn, Major::kK);
  vary([](Problem& p, InputOrder x) { p.input_order = x; }, InputOrder::kTensor2d,
       InputOrder::kTensorRagged);
  vary([](Problem& p, int x) { p.m = x; }, 4096, 4104);
  vary([](Problem& p, DType x) { p.a_dtype = p.b_dtype = x; }, DType::kBf16, DType::kF16);
  vary([](Problem& p, DType x) { p.wgrad_dtype = x; }, DType::kBf16, DType::kF16, DType::kF32);
  vary([](Problem& p, OutputMode x) { p.output_mode = x; }, OutputMode::kDense,
       OutputMode::kDiscrete);
  vary([](Problem& p, bool x) { p.accumulate = x; }, false, true);
  // Every number of 64s in the last tile of a row: whole 64s, units of 16 bytes, columns that are
  // stored one by one.
  vary([](Problem& p, int x) { p.n = x; }, 4096, 4160, 4224, 4288, 4104, 4168, 4240, 4296, 4101,
       4173, 4245, 4301);
  for (Problem& p : out) {
    p.experts = 8;
    p.tokens = 4096;
    if (p.output_mode == OutputMode::kDense) p.wgrad_row_pitch = round_up(p.n, std::int64_t{8});
  }
  std::erase_if(out, [](const Problem& p) { return !validate::broken_rules(p).empty(); });
  return out;
}

namespace {

template <typename AllowedConfigs>
auto distinct_configs(const AllowedConfigs& allowed) {
  std::map<std::string, typename decltype(allowed(Problem{}))::value_type> distinct;
  for (const Problem& p : planned_problems()) {
    for (const auto& c : allowed(p)) distinct.emplace(core::field_text(c, "", 100), c);
  }
  decltype(allowed(Problem{})) out;
  out.reserve(distinct.size());
  for (const auto& [text, config] : distinct) out.push_back(config);
  return out;
}

}  // namespace

std::vector<Config> planned_configs() {
  return distinct_configs(kernels::sm90::allowed_configs);
}

std::vector<shared::sm100::Config> planned_sm100_configs() {
  return distinct_configs(kernels::sm100::allowed_configs);
}

}  // namespace wgrad::test
