#include "contract.hpp"

#include <array>
#include <cstring>

namespace wgrad::python {
namespace {

const char* text(Major major) {
  return major == Major::kK ? "K-major" : "MN-major";
}

void compare(Reasons& out, const char* field, const std::string& got, const std::string& need) {
  if (got != need) out.push_back({"static-contract", field, got, need + ", as compiled"});
}

void compare(Reasons& out, const char* field, std::int64_t got, std::int64_t need) {
  compare(out, field, std::to_string(got), std::to_string(need));
}

std::string text(const std::optional<ScaleSpec>& scales) {
  if (!scales) return "None";
  return std::string(name(scales->dtype)) + (scales->global_scale ? " with global scales" : "");
}

std::string output_strides(const Problem& p) {
  return "strided by (" + std::to_string(expert_stride(p)) + ", " + std::to_string(row_pitch(p)) +
         ", 1)";
}

}  // namespace

std::string key_of(const Problem& p, const Place& place, const Options& options) {
  const ScaleSpec scales = p.scales.value_or(ScaleSpec{});
  const std::array<std::int64_t, 27> fields = {
      p.experts,
      p.m,
      p.n,
      static_cast<std::int64_t>(p.a_dtype),
      static_cast<std::int64_t>(p.b_dtype),
      static_cast<std::int64_t>(p.a_major),
      static_cast<std::int64_t>(p.b_major),
      static_cast<std::int64_t>(p.input_order),
      static_cast<std::int64_t>(p.scales.has_value()),
      static_cast<std::int64_t>(scales.dtype),
      scales.vec_size,
      static_cast<std::int64_t>(scales.layout),
      static_cast<std::int64_t>(scales.global_scale),
      static_cast<std::int64_t>(p.wgrad_dtype),
      static_cast<std::int64_t>(p.acc_dtype),
      static_cast<std::int64_t>(p.output_mode),
      p.wgrad_expert_stride,
      p.wgrad_row_pitch,
      static_cast<std::int64_t>(p.accumulate),
      p.tiling.tile_m,
      p.tiling.tile_n,
      p.tiling.cluster_m,
      p.tiling.cluster_n,
      static_cast<std::int64_t>(place.kind),
      place.ordinal,
      static_cast<std::int64_t>(options.validate_device_data),
      options.sm_limit,
  };
  std::string bytes(sizeof fields, '\0');
  std::memcpy(bytes.data(), fields.data(), sizeof fields);
  return bytes + options.backend;
}

std::vector<std::string> other_keys(const Call& call, const Options& options) {
  std::vector<std::string> keys;
  const auto other = [](Major major) { return major == Major::kK ? Major::kMn : Major::kK; };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      if ((a && !call.a_open) || (b && !call.b_open) || (!a && !b)) continue;
      Problem p = call.problem;
      if (a) p.a_major = other(p.a_major);
      if (b) p.b_major = other(p.b_major);
      keys.push_back(key_of(p, call.place, options));
    }
  }
  return keys;
}

std::string Contract::key() const {
  return key_of(problem, place, options);
}

DeviceSpec Contract::device(const DeviceSpec* by_hand) const {
  DeviceSpec device = by_hand != nullptr ? *by_hand : device_at(place);
  if (options.sm_limit == 0) return device;
  if (device.kind == DeviceKind::kCpu) {
    refuse({"sm-limit", "sm_limit", std::to_string(options.sm_limit),
            "None: the operands are on a CPU (WGRAD_THREADS limits its threads)"});
  }
  device.sm_limit = options.sm_limit;
  return device;
}

Reasons differences(const Problem& got, const Problem& need) {
  Reasons out;
  compare(out, "m", got.m, need.m);
  compare(out, "n", got.n, need.n);
  compare(out, "num_experts", got.experts, need.experts);
  compare(out, "a", std::string(name(got.a_dtype)), std::string(name(need.a_dtype)));
  compare(out, "b", std::string(name(got.b_dtype)), std::string(name(need.b_dtype)));
  compare(out, "a", text(got.a_major), text(need.a_major));
  compare(out, "b", text(got.b_major), text(need.b_major));
  compare(out, "sfa", text(got.scales), text(need.scales));
  compare(out, "wgrad", std::string(name(got.wgrad_dtype)), std::string(name(need.wgrad_dtype)));
  compare(out, "wgrad", output_strides(got), output_strides(need));
  return out;
}

bool same_contract(Problem got, const Problem& need) {
  got.tokens = need.tokens;
  return got == need;
}

}  // namespace wgrad::python
