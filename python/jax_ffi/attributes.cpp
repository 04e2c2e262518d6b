#include "attributes.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "wgrad/errors.hpp"

namespace wgrad::jax {
namespace {

using Dictionary = xla::ffi::Dictionary;

template <class T>
T get(const Dictionary& attributes, std::string_view name) {
  const auto value = attributes.get<T>(name);
  if (value.has_value()) return *value;
  throw ValueError("wgrad: the custom call's attribute " + std::string(name) +
                   " is missing or of another type: " + value.error().message());
}

[[noreturn]] void refuse(std::string_view name, std::string_view got) {
  throw ValueError("wgrad: the custom call's attribute " + std::string(name) + " is '" +
                   std::string(got) + "'; it must be one of the values that wgrad.jax writes");
}

template <class T>
T choice(const Dictionary& attributes, std::string_view name,
         std::initializer_list<std::pair<std::string_view, T>> all) {
  const auto text = get<std::string_view>(attributes, name);
  for (const auto& [known, value] : all) {
    if (known == text) return value;
  }
  refuse(name, text);
}

DType dtype(const Dictionary& attributes, std::string_view field) {
  constexpr std::array kAll = {DType::kBf16, DType::kF16,  DType::kF32, DType::kE4m3,
                               DType::kE5m2, DType::kE2m1, DType::kE8m0};
  const auto text = get<std::string_view>(attributes, field);
  for (const DType known : kAll) {
    if (name(known) == text) return known;
  }
  refuse(field, text);
}

Major major(const Dictionary& attributes, std::string_view name) {
  return choice<Major>(attributes, name, {{"k", Major::kK}, {"mn", Major::kMn}});
}

int small(const Dictionary& attributes, std::string_view name) {
  return static_cast<int>(get<std::int64_t>(attributes, name));
}

std::optional<ScaleSpec> read_scales(const Dictionary& attributes) {
  if (get<std::string_view>(attributes, "scale_dtype").empty()) return std::nullopt;
  ScaleSpec scales;
  scales.dtype = dtype(attributes, "scale_dtype");
  scales.vec_size = small(attributes, "sf_vec_size");
  scales.layout = choice<ScaleLayout>(
      attributes, "scale_layout",
      {{"swizzled", ScaleLayout::kSwizzled}, {"compact", ScaleLayout::kCompact}});
  scales.global_scale = get<bool>(attributes, "global_scale");
  return scales;
}

Problem read_problem(const Dictionary& attributes) {
  Problem p;
  p.experts = get<std::int64_t>(attributes, "experts");
  p.m = get<std::int64_t>(attributes, "m");
  p.n = get<std::int64_t>(attributes, "n");
  p.tokens = get<std::int64_t>(attributes, "tokens");
  p.a_dtype = dtype(attributes, "a_dtype");
  p.b_dtype = dtype(attributes, "b_dtype");
  p.a_major = major(attributes, "a_major");
  p.b_major = major(attributes, "b_major");
  p.input_order = choice<InputOrder>(
      attributes, "input_order",
      {{"tensor2d", InputOrder::kTensor2d}, {"tensor_ragged", InputOrder::kTensorRagged}});
  p.scales = read_scales(attributes);
  p.wgrad_dtype = dtype(attributes, "wgrad_dtype");
  p.output_mode =
      choice<OutputMode>(attributes, "output_mode",
                         {{"dense", OutputMode::kDense}, {"discrete", OutputMode::kDiscrete}});
  p.accumulate = get<bool>(attributes, "accumulate");
  p.tiling = {small(attributes, "tile_m"), small(attributes, "tile_n"),
              small(attributes, "cluster_m"), small(attributes, "cluster_n")};
  return p;
}

}  // namespace

Statement read_statement(const Dictionary& attributes) {
  Statement statement;
  statement.problem = read_problem(attributes);
  statement.options.backend = std::string(get<std::string_view>(attributes, "backend"));
  statement.sm_limit = small(attributes, "sm_limit");
  return statement;
}

std::string_view key_of(const Dictionary& attributes) {
  return get<std::string_view>(attributes, "key");
}

DeviceSpec limited(DeviceSpec device, const Statement& statement) {
  device.sm_limit = statement.sm_limit;
  return device;
}

}  // namespace wgrad::jax
