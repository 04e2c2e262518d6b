// How far a right result may be from the exact one.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "wgrad/problem.hpp"

namespace wgrad::harness {

/// Of a sum of k products in FP32, divided by sum|a*b|. Sums may be taken in any order and may
/// truncate (tensor cores do): 2^-23 a step. With random signs the partial sums grow as sqrt(k), so
/// that k steps of it err by about sqrt(k) * 2^-23 * sum|a*b| (Higham and Mary 2019).
inline double sum_bound(std::int64_t k, double last_place = 0x1p-23) {
  return (4.0 + 2.0 * std::sqrt(static_cast<double>(k))) * last_place;
}

/// The same of FP8 tensor cores, whose accumulators keep 13 binary places
/// (docs/notes/2026-12-01-how-hopper-adds-fp8.md), for all k products or for 128 at a time, which
/// FP32 then adds up.
inline double fp8_sum_bound(std::int64_t k, bool all) {
  return sum_bound(all ? k : std::min<std::int64_t>(k, 128), 0x1p-13) + sum_bound(k);
}

/// Of a result that `backend` computes.
inline double sum_bound_of(const Problem& p, std::string_view backend, std::int64_t k) {
  const bool short_sums = is_fp8_by_rows(p) && (backend == "cuda" || backend == "emu");
  return short_sums ? fp8_sum_bound(k, p.fast_accumulation) : sum_bound(k);
}

}  // namespace wgrad::harness
