#include "call/statement.hpp"

#include "call/element.hpp"
#include "call/spelling.hpp"

namespace wgrad::call {
namespace {

/// Calls see(name, field) for every field of a contract, or of a constant one.
template <class Contracted, class See>
void each_value(Contracted& contract, See&& see) {
  auto& [problem, place, preparation, strides_open] = contract;
  auto& [experts, m, n, tokens, a_dtype, b_dtype, a_major, b_major, input_order, scales,
         wgrad_dtype, acc_dtype, output_mode, wgrad_expert_stride, wgrad_row_pitch, accumulate,
         fast_accumulation, tiling, workspace] = problem;
  see("experts", experts);
  see("m", m);
  see("n", n);
  see("tokens", tokens);
  see("a_dtype", a_dtype);
  see("b_dtype", b_dtype);
  see("a_major", a_major);
  see("b_major", b_major);
  see("input_order", input_order);
  see("scale_dtype", scales);
  see("wgrad_dtype", wgrad_dtype);
  see("acc_dtype", acc_dtype);
  see("output_mode", output_mode);
  see("wgrad_expert_stride", wgrad_expert_stride);
  see("wgrad_row_pitch", wgrad_row_pitch);
  see("accumulate", accumulate);
  see("fast_accumulation", fast_accumulation);
  see("workspace", workspace);
  auto& [tile_m, tile_n, cluster_m, cluster_n] = tiling;
  see("tile_m", tile_m);
  see("tile_n", tile_n);
  see("cluster_m", cluster_m);
  see("cluster_n", cluster_n);
  auto& [backend, validate_device_data, sm_limit, allow_unverified] = preparation;
  see("backend", backend);
  see("validate_device_data", validate_device_data);
  see("sm_limit", sm_limit);
  see("allow_unverified", allow_unverified);
}

/// The fields of scale factors beside their dtype.
template <class Scales, class See>
void each_value_of_scales(Scales& scales, See&& see) {
  auto& [dtype, vec_size, layout, global_scale] = scales;
  see("sf_vec_size", vec_size);
  see("scale_layout", layout);
  see("global_scale", global_scale);
}

class Writer {
 public:
  explicit Writer(NamedValues& out) : out_(out) {}

  void operator()(std::string_view name, bool flag) { out_.emplace_back(name, flag); }
  void operator()(std::string_view name, std::int64_t number) { out_.emplace_back(name, number); }
  void operator()(std::string_view name, int number) { (*this)(name, std::int64_t{number}); }
  void operator()(std::string_view name, const std::string& text) { out_.emplace_back(name, text); }
  void operator()(std::string_view field, DType dtype) { (*this)(field, std::string(name(dtype))); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void operator()(std::string_view name, Enum choice) { (*this)(name, std::string(spell(choice))); }
  /// Without scale factors the dtype is "".
  void operator()(std::string_view field, const std::optional<ScaleSpec>& scales) {
    (*this)(field, std::string(scales ? name(scales->dtype) : ""));
    const ScaleSpec spec = scales.value_or(ScaleSpec{});
    each_value_of_scales(spec, *this);
  }

 private:
  NamedValues& out_;
};

class Reader {
 public:
  explicit Reader(const Ask& ask) : ask_(ask) {}

  void operator()(const char* name, bool& flag) const { flag = get<bool>(name); }
  void operator()(const char* name, std::int64_t& number) const {
    number = get<std::int64_t>(name);
  }
  void operator()(const char* name, int& number) const {
    number = static_cast<int>(get<std::int64_t>(name));
  }
  void operator()(const char* name, std::string& text) const { text = get<std::string>(name); }
  void operator()(const char* name, DType& dtype) const {
    dtype = dtype_named(get<std::string>(name), name);
  }
  void operator()(const char* name, Major& major) const {
    major = major_named(get<std::string>(name), name);
  }
  void operator()(const char* name, InputOrder& order) const {
    order = input_order_named(get<std::string>(name));
  }
  void operator()(const char* name, OutputMode& mode) const {
    mode = output_mode_named(get<std::string>(name));
  }
  void operator()(const char* name, ScaleLayout& layout) const {
    layout = scale_layout_named(get<std::string>(name));
  }
  void operator()(const char* name, std::optional<ScaleSpec>& scales) const {
    const std::string dtype = get<std::string>(name);
    ScaleSpec spec;
    each_value_of_scales(spec, *this);
    if (dtype.empty()) return;
    spec.dtype = dtype_named(dtype, name);
    scales = spec;
  }

 private:
  template <class T>
  T get(const char* name) const {
    Value value = T{};
    ask_(name, value);
    return std::get<T>(value);
  }

  const Ask& ask_;
};

}  // namespace

NamedValues values_of(const Contract& contract) {
  NamedValues out;
  each_value(contract, Writer(out));
  return out;
}

Contract contract_of_values(const Ask& ask) {
  Contract contract;
  each_value(contract, Reader(ask));
  return contract;
}

}  // namespace wgrad::call
