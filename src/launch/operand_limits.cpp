#include "launch/operand_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kernels/sm90/config.hpp"
#include "validate/operand_rules.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::launch {
namespace {

constexpr std::int64_t kLdMultiple = 8;  // 16 bytes
constexpr std::int64_t kElementBytes = 2;

std::int64_t map_ld(const validate::OperandView& view) {
  if (view.ld_matters) return view.ld;
  return round_up(std::max<std::int64_t>(view.width, 1), kLdMultiple);
}

void check_ld(std::vector<Reason>& out, const char* field, Major major, std::int64_t ld) {
  const std::int64_t most =
      (major == Major::kMn ? kernels::sm90::kMaxMnPitchBytes : kernels::sm90::kMaxPitchBytes) /
      kElementBytes;
  if (ld <= most) return;
  out.push_back(
      {"pitch-limit", field, fmt::format("{}", ld), fmt::format("at most {} on SM 9.0", most)});
}

bool has_ragged_map(const Problem& p) {
  return p.a_major == Major::kMn || p.b_major == Major::kMn;
}

/// A ragged K-major operand takes no map.
bool takes_map(const Problem& p, Major major) {
  return major == Major::kMn || p.input_order == InputOrder::kTensor2d;
}

}  // namespace

std::int64_t map_ld_a(const Problem& p, const Operands& o) {
  return map_ld(validate::view_a(p, o));
}
std::int64_t map_ld_b(const Problem& p, const Operands& o) {
  return map_ld(validate::view_b(p, o));
}

std::vector<Reason> operand_limits(const Problem& p, const Operands& o) {
  std::vector<Reason> out;
  if (has_ragged_map(p) && o.tokens > kernels::sm90::kMaxTokens) {
    out.push_back(
        {"token-limit", "tokens", fmt::format("{}", o.tokens),
         fmt::format("at most {} for an MN-major operand on SM 9.0", kernels::sm90::kMaxTokens)});
  } else if (o.tokens > kernels::sm90::kMaxExtent) {
    out.push_back({"extent-limit", "tokens", fmt::format("{}", o.tokens),
                   fmt::format("at most {} on SM 9.0", kernels::sm90::kMaxExtent)});
  }
  if (takes_map(p, p.a_major)) check_ld(out, "a_ld", p.a_major, map_ld_a(p, o));
  if (takes_map(p, p.b_major)) check_ld(out, "b_ld", p.b_major, map_ld_b(p, o));
  return out;
}

}  // namespace wgrad::launch
