#include "attributes.hpp"

#include <cstdint>
#include <string>

#include "call/element.hpp"
#include "call/spelling.hpp"
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

std::string_view text(const Dictionary& attributes, const char* name) {
  return get<std::string_view>(attributes, name);
}

DType dtype(const Dictionary& attributes, const char* name) {
  return call::dtype_named(text(attributes, name), name);
}

Major major(const Dictionary& attributes, const char* name) {
  return call::major_named(text(attributes, name), name);
}

int small(const Dictionary& attributes, std::string_view name) {
  return static_cast<int>(get<std::int64_t>(attributes, name));
}

std::optional<ScaleSpec> read_scales(const Dictionary& attributes) {
  if (text(attributes, "scale_dtype").empty()) return std::nullopt;
  ScaleSpec scales;
  scales.dtype = dtype(attributes, "scale_dtype");
  scales.vec_size = small(attributes, "sf_vec_size");
  scales.layout = call::scale_layout_named(text(attributes, "scale_layout"));
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
  p.input_order = call::input_order_named(text(attributes, "input_order"));
  p.scales = read_scales(attributes);
  p.wgrad_dtype = dtype(attributes, "wgrad_dtype");
  p.output_mode = call::output_mode_named(text(attributes, "output_mode"));
  p.accumulate = get<bool>(attributes, "accumulate");
  p.tiling = {small(attributes, "tile_m"), small(attributes, "tile_n"),
              small(attributes, "cluster_m"), small(attributes, "cluster_n")};
  return p;
}

}  // namespace

Statement read_statement(const Dictionary& attributes) {
  Statement statement;
  statement.problem = read_problem(attributes);
  statement.options.backend = text(attributes, "backend");
  statement.options.validate_device_data = get<bool>(attributes, "validate_device_data");
  statement.sm_limit = small(attributes, "sm_limit");
  return statement;
}

std::string_view key_of(const Dictionary& attributes) {
  return text(attributes, "key");
}

DeviceSpec limited(DeviceSpec device, const Statement& statement) {
  device.sm_limit = statement.sm_limit;
  return device;
}

}  // namespace wgrad::jax
