// How far a right result may be from the exact one.
#pragma once

#include <cmath>
#include <cstdint>

namespace wgrad::harness {

/// Of a sum of k products in FP32, divided by sum|a*b|. Sums may be taken in any order and may
/// truncate (tensor cores do): 2^-23 a step. With random signs the partial sums grow as sqrt(k), so
/// that k steps of it err by about sqrt(k) * 2^-23 * sum|a*b| (Higham and Mary 2019).
inline double sum_bound(std::int64_t k) {
  return (4.0 + 2.0 * std::sqrt(static_cast<double>(k))) * 0x1p-23;
}

}  // namespace wgrad::harness
