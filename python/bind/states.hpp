// States by which values are pickled and copied: the fields of a structure, in order, as a tuple.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "request.hpp"
#include "wgrad/explain.hpp"

namespace wgrad::python {

template <class T, class Of>
concept IsA = std::is_same_v<std::remove_const_t<T>, Of>;

// each_part(value, see) calls see(field) for every field. One that is new does not compile before
// it is named here.
template <IsA<ScaleSpec> T, class See>
void each_part(T& value, See&& see) {
  auto& [dtype, vec_size, layout, global_scale] = value;
  (see(dtype), see(vec_size), see(layout), see(global_scale));
}
template <IsA<Tiling> T, class See>
void each_part(T& value, See&& see) {
  auto& [tile_m, tile_n, cluster_m, cluster_n] = value;
  (see(tile_m), see(tile_n), see(cluster_m), see(cluster_n));
}
template <IsA<Problem> T, class See>
void each_part(T& value, See&& see) {
  auto& [experts, m, n, tokens, a_dtype, b_dtype, a_major, b_major, input_order, scales,
         wgrad_dtype, acc_dtype, output_mode, expert_stride, row_pitch, accumulate,
         fast_accumulation, tiling, workspace] = value;
  (see(experts), see(m), see(n), see(tokens), see(a_dtype), see(b_dtype), see(a_major));
  (see(b_major), see(input_order), see(scales), see(wgrad_dtype), see(acc_dtype));
  (see(output_mode), see(expert_stride), see(row_pitch), see(accumulate), see(tiling));
  (see(fast_accumulation), see(workspace));
}
template <IsA<DeviceSpec> T, class See>
void each_part(T& value, See&& see) {
  auto& [kind, name, arch, sm_count, smem_bytes, l2_bytes, threads, avx512, amx, limit,
         unverified] = value;
  (see(kind), see(name), see(arch), see(sm_count), see(smem_bytes), see(l2_bytes));
  (see(threads), see(avx512), see(amx), see(limit), see(unverified));
}
template <IsA<Reason> T, class See>
void each_part(T& value, See&& see) {
  auto& [rule, field, got, need, kind] = value;
  (see(rule), see(field), see(got), see(need), see(kind));
}
template <IsA<Support> T, class See>
void each_part(T& value, See&& see) {
  see(value.reasons);
}
template <IsA<Candidate> T, class See>
void each_part(T& value, See&& see) {
  auto& [backend, plan, predicted_ms, bound, reasons, on_request] = value;
  (see(backend), see(plan), see(predicted_ms), see(bound), see(reasons), see(on_request));
}
template <IsA<Explanation> T, class See>
void each_part(T& value, See&& see) {
  auto& [candidates, notes] = value;
  (see(candidates), see(notes));
}
template <IsA<LeadingDimensions> T, class See>
void each_part(T& value, See&& see) {
  auto& [a, b] = value;
  (see(a), see(b));
}
template <IsA<call::Place> T, class See>
void each_part(T& value, See&& see) {
  auto& [kind, ordinal] = value;
  (see(kind), see(ordinal));
}
template <IsA<call::Preparation> T, class See>
void each_part(T& value, See&& see) {
  auto& [backend, validate, sm_limit, allow_unverified] = value;
  (see(backend), see(validate), see(sm_limit), see(allow_unverified));
}
template <IsA<call::Options> T, class See>
void each_part(T& value, See&& see) {
  auto& [tiling, vec_size, layout, order, accumulate, fast_accumulation, wgrad_dtype, acc_dtype,
         sf_override, preparation] = value;
  (see(tiling), see(vec_size), see(layout), see(order), see(accumulate), see(fast_accumulation));
  (see(wgrad_dtype), see(acc_dtype), see(sf_override), see(preparation));
}
template <IsA<call::Contract> T, class See>
void each_part(T& value, See&& see) {
  auto& [problem, place, preparation, strides_open] = value;
  (see(problem), see(place), see(preparation), see(strides_open));
}
template <IsA<Described> T, class See>
void each_part(T& value, See&& see) {
  auto& [contract, options, form, lds] = value;
  (see(contract), see(options), see(form), see(lds));
}

template <class T>
struct ElementOf {};
template <class T>
struct ElementOf<std::vector<T>> {
  using Type = T;
};
template <class T>
concept IsVector = requires {
  typename ElementOf<T>::Type;
};
template <class T>
concept IsOptional = IsA<T, std::optional<typename T::value_type>>;
template <class T>
concept IsPlain = std::is_arithmetic_v<T> || IsA<T, std::string>;

template <class T>
nanobind::object to_state(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return nanobind::int_(static_cast<int>(value));
  } else if constexpr (IsPlain<T>) {
    return nanobind::cast(value);
  } else if constexpr (IsVector<T>) {
    nanobind::list list;
    for (const auto& element : value) list.append(to_state(element));
    return nanobind::tuple(list);
  } else if constexpr (IsOptional<T>) {
    return value ? to_state(*value) : nanobind::none();
  } else {
    nanobind::list list;
    each_part(value, [&](const auto& field) { list.append(to_state(field)); });
    return nanobind::tuple(list);
  }
}

template <class T>
void from_state(nanobind::handle state, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(nanobind::cast<int>(state));
  } else if constexpr (IsPlain<T>) {
    value = nanobind::cast<T>(state);
  } else if constexpr (IsVector<T>) {
    for (const nanobind::handle element : state) from_state(element, value.emplace_back());
  } else if constexpr (IsOptional<T>) {
    if (!state.is_none()) from_state(state, value.emplace());
  } else {
    std::size_t next = 0;
    each_part(value, [&](auto& field) { from_state(state[next++], field); });
  }
}

/// Lets pickle and copy have values of a bound class.
template <class T, class... Extra>
void make_picklable(nanobind::class_<T, Extra...>& bound) {
  bound.def("__getstate__", [](const T& value) { return to_state(value); });
  bound.def("__setstate__", [](T& self, const nanobind::tuple& state) {
    T value{};
    from_state(state, value);
    new (&self) T(std::move(value));
  });
}

}  // namespace wgrad::python
