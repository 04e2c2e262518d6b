// Every member of what makes an operator, one by one: not the list that the key is made of.
#pragma once

#include <string>
#include <utility>

#include "call/contract.hpp"

namespace wgrad::test {

/// Calls see(name, member) for each. A structure that gains a member does not compile here.
template <class See>
void each_member(call::Contract& contract, See&& see) {
  auto& [problem, place, preparation, strides_open] = contract;
  auto& [experts, m, n, tokens, a_dtype, b_dtype, a_major, b_major, input_order, scales,
         wgrad_dtype, acc_dtype, output_mode, expert_stride, row_pitch, accumulate,
         fast_accumulation, tiling, workspace] = problem;
  see("experts", experts);
  see("m", m);
  see("n", n);
  see("fast_accumulation", fast_accumulation);
  see("tokens", tokens);
  see("a_dtype", a_dtype);
  see("b_dtype", b_dtype);
  see("a_major", a_major);
  see("b_major", b_major);
  see("input_order", input_order);
  see("wgrad_dtype", wgrad_dtype);
  see("acc_dtype", acc_dtype);
  see("output_mode", output_mode);
  see("wgrad_expert_stride", expert_stride);
  see("wgrad_row_pitch", row_pitch);
  see("accumulate", accumulate);
  see("workspace", workspace);
  auto& [tile_m, tile_n, cluster_m, cluster_n] = tiling;
  see("tile_m", tile_m);
  see("tile_n", tile_n);
  see("cluster_m", cluster_m);
  see("cluster_n", cluster_n);
  see("scales", scales);
  if (scales) {
    auto& [dtype, vec_size, layout, global_scale] = *scales;
    see("scales.dtype", dtype);
    see("scales.vec_size", vec_size);
    see("scales.layout", layout);
    see("scales.global_scale", global_scale);
  }
  auto& [kind, ordinal] = place;
  see("place.kind", kind);
  if (kind == DeviceKind::kCuda) see("place.ordinal", ordinal);  // a CPU has none
  auto& [backend, validate_device_data, sm_limit, allow_unverified] = preparation;
  see("backend", backend);
  see("validate_device_data", validate_device_data);
  see("sm_limit", sm_limit);
  see("allow_unverified", allow_unverified);
}

inline void change(std::int64_t& number) {
  number += 16;
}
inline void change(int& number) {
  number += 1;
}
inline void change(bool& flag) {
  flag = !flag;
}
inline void change(std::string& text) {
  text += "x";
}
inline void change(std::optional<ScaleSpec>& scales) {
  scales = scales ? std::nullopt : std::optional(ScaleSpec{});
}
template <class Enum>
requires std::is_enum_v<Enum>
void change(Enum& choice) {
  choice = choice == Enum{} ? static_cast<Enum>(1) : Enum{};
}

/// Each member's name, with a copy of `base` in which it alone is another.
inline std::vector<std::pair<std::string, call::Contract>> changed_one_by_one(
    const call::Contract& base) {
  std::vector<std::pair<std::string, call::Contract>> out;
  call::Contract counted = base;
  each_member(counted, [&](const char* name, auto&) { out.emplace_back(name, base); });
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t at = 0;
    each_member(out[i].second, [&](const char*, auto& member) {
      if (at++ == i) change(member);
    });
  }
  return out;
}

}  // namespace wgrad::test
