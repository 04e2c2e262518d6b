#include "validate/data_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "core/counted.hpp"
#include "validate/operand_rules.hpp"
#include "validate/problem_rules.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::validate {
namespace {

using Reasons = std::vector<Reason>;

void check_offset(Reasons& out, std::int64_t e, std::int64_t begin, std::int64_t end,
                  std::int64_t tokens) {
  if (end < begin) {
    const bool negative = end < 0;
    out.push_back({negative ? "offset-negative" : "offset-decreases", fmt::format("offsets[{}]", e),
                   fmt::format("{}", end),
                   fmt::format("at least {}, the end of the expert before it", begin)});
  } else if (end > tokens) {
    out.push_back({"offset-exceeds-tokens", fmt::format("offsets[{}]", e), fmt::format("{}", end),
                   fmt::format("at most T = {}", tokens)});
  }
}

/// FP4 rows are whole bytes only where a block begins, and in ragged order also ends, evenly.
void check_fp4(Reasons& out, const Problem& p, std::int64_t e, std::int64_t begin,
               std::int64_t end) {
  if (p.a_dtype != DType::kE2m1 || end <= begin) return;
  if (begin % 2 != 0) {
    out.push_back({"fp4-begin", fmt::format("expert {}", e),
                   fmt::format("starting at token {}", begin),
                   "starting at an even token: packed FP4 holds two tokens per byte"});
  } else if (p.input_order == InputOrder::kTensorRagged && (end - begin) % 2 != 0) {
    out.push_back({"fp4-count", fmt::format("expert {}", e),
                   core::counted(end - begin, "token") + " long",
                   "of an even count in ragged order: its rows are packed two tokens per byte"});
  }
}

void check_scale_cols(Reasons& out, const char* field, const Problem& p, std::int64_t cols,
                      std::span<const std::int32_t> offsets) {
  const std::int64_t need = scale_cols(offsets, p.scales->vec_size, p.scales->layout);
  if (cols < need) {
    out.push_back(
        {"scale-extent", field, core::counted(cols, "column") + " wide",
         fmt::format("at least {} wide for these offsets", core::counted(need, "column"))});
  }
}

void check_wgrad_pointer(Reasons& out, std::size_t e, std::int64_t address) {
  if (address == 0 || address % kAlignment != 0) {
    out.push_back({"wgrad-pointer", fmt::format("wgrad_ptrs[{}]", e), fmt::format("{:#x}", address),
                   fmt::format("a non-null address aligned to {} bytes", kAlignment)});
  }
}

/// Of one expert's output, which is packed in the discrete mode.
std::int64_t output_bytes(const Problem& p) {
  return p.m * p.n * bits(p.wgrad_dtype) / 8;
}

/// Experts are written at the same time, so an address belongs to one of them.
void check_each_other(Reasons& out, const Problem& p, std::span<const std::int64_t> wgrad_ptrs) {
  const std::int64_t bytes = output_bytes(p);
  std::vector<std::size_t> order(wgrad_ptrs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto address = [&](std::size_t e) { return static_cast<std::uint64_t>(wgrad_ptrs[e]); };
  std::ranges::stable_sort(order, {}, address);
  for (std::size_t i = 1; i < order.size(); ++i) {
    const std::size_t before = order[i - 1];
    const std::size_t e = order[i];
    if (address(e) - address(before) >= static_cast<std::uint64_t>(bytes)) continue;
    out.push_back({"wgrad-overlap", fmt::format("wgrad_ptrs[{}]", e),
                   fmt::format("{:#x}, within the output of expert {} at {:#x}", wgrad_ptrs[e],
                               before, wgrad_ptrs[before]),
                   fmt::format("at least {} from every other", core::counted(bytes, "byte"))});
  }
}

}  // namespace

std::vector<Reason> broken_data_rules(const Problem& p, const Operands& o,
                                      std::span<const std::int32_t> offsets,
                                      std::span<const std::int64_t> wgrad_ptrs) {
  Reasons out;
  std::int64_t begin = 0;
  for (std::size_t e = 0; e < offsets.size(); ++e) {
    check_offset(out, static_cast<std::int64_t>(e), begin, offsets[e], o.tokens);
    check_fp4(out, p, static_cast<std::int64_t>(e), begin, offsets[e]);
    begin = offsets[e];
  }
  if (p.scales && !scales_whole_rows(p) && out.empty()) {  // the columns follow from the offsets
    check_scale_cols(out, "sfa", p, o.sfa_cols, offsets);
    check_scale_cols(out, "sfb", p, o.sfb_cols, offsets);
  }
  const std::size_t before = out.size();
  for (std::size_t e = 0; e < wgrad_ptrs.size(); ++e) check_wgrad_pointer(out, e, wgrad_ptrs[e]);
  if (out.size() != before) return out;  // what overlaps follows from the addresses
  check_each_other(out, p, wgrad_ptrs);
  check_overlaps(out, p, o, wgrad_ptrs, output_bytes(p));
  return out;
}

std::vector<Reason> broken_host_data_rules(const Problem& p, const Operands& o) {
  const auto experts = static_cast<std::size_t>(p.experts);
  return broken_data_rules(p, o, std::span(o.offsets, experts),
                           std::span(o.wgrad_ptrs, o.wgrad_ptrs != nullptr ? experts : 0));
}

}  // namespace wgrad::validate
