#include "call/contract.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "call/spelling.hpp"

namespace wgrad::call {
namespace {

/// A key in the making: numbers of one size, then the characters of texts.
class KeyWriter {
 public:
  template <class T>
  void put(const T& number) {
    numbers_.at(count_++) = static_cast<std::int64_t>(number);
  }
  void put(const std::string& text) {
    put(text.size());
    texts_ += text;
  }
  void put(const Place& place) {
    const auto& [kind, ordinal] = place;
    put(kind);
    put(ordinal);
  }
  void put(const Tiling& tiling) {
    const auto& [tile_m, tile_n, cluster_m, cluster_n] = tiling;
    for (const int extent : {tile_m, tile_n, cluster_m, cluster_n}) put(extent);
  }
  void put(const std::optional<ScaleSpec>& scales) {
    put(scales.has_value());
    const auto& [dtype, vec_size, layout, global_scale] = scales.value_or(ScaleSpec{});
    put(dtype);
    put(vec_size);
    put(layout);
    put(global_scale);
  }
  void put(const OutputStrides& strides) {
    put(strides.problem.wgrad_expert_stride);
    put(strides.problem.wgrad_row_pitch);
  }

  std::string key() const {
    std::string bytes(count_ * sizeof(std::int64_t), '\0');
    std::memcpy(bytes.data(), numbers_.data(), bytes.size());
    return bytes + texts_;
  }

 private:
  std::array<std::int64_t, 40> numbers_{};  // at() refuses more
  std::size_t count_ = 0;
  std::string texts_;
};

template <class Contracted>
std::string key(const Contracted& contracted) {
  KeyWriter writer;
  each_field(contracted, [&](const char*, const auto& value) { writer.put(value); });
  return writer.key();
}

std::string text(std::int64_t number) {
  return std::to_string(number);
}
std::string text(int number) {
  return std::to_string(number);
}
std::string text(bool flag) {
  return flag ? "True" : "False";
}
std::string text(DType dtype) {
  return std::string(name(dtype));
}
std::string text(Major major) {
  return major == Major::kK ? "K-major" : "MN-major";
}
std::string text(InputOrder order) {
  return std::string(spell(order));
}
std::string text(OutputMode mode) {
  return std::string(spell(mode));
}
std::string text(const std::string& backend) {
  return backend.empty() ? "None" : backend;
}
std::string text(const Place& place) {
  return "on " + to_string(place);
}
std::string text(const Tiling& t) {
  return fmt::format("({}, {}) in clusters of ({}, {})", t.tile_m, t.tile_n, t.cluster_m,
                     t.cluster_n);
}
/// What is usual for the dtype goes without saying.
std::string text(const std::optional<ScaleSpec>& scales) {
  if (!scales) return "None";
  std::string out(name(scales->dtype));
  if (scales->global_scale) out += " with global scales";
  if (scales->vec_size == kAllTokens) return out + ", one a row and expert";
  const int usual = scales->dtype == DType::kE4m3 ? 16 : 32;
  if (scales->vec_size != usual) out += fmt::format(", one every {} tokens", scales->vec_size);
  if (scales->vec_size == 128) return out;
  if (scales->layout != ScaleLayout::kSwizzled) out += fmt::format(", {}", spell(scales->layout));
  return out;
}
std::string text(const OutputStrides& strides) {
  return fmt::format("strided by ({}, {}, 1)", expert_stride(strides.problem),
                     row_pitch(strides.problem));
}

const char* rule(const Place&) {
  return "device";
}
const char* rule(DType) {
  return "compiled-dtype";
}
const char* rule(Major) {
  return "compiled-layout";
}
template <class T>
const char* rule(const T&) {
  return "static-contract";
}

template <class Contracted>
Reasons descriptions(const Contracted& contracted) {
  Reasons out;
  each_field(contracted, [&](const char* field, const auto& value) {
    out.push_back({rule(value), field, text(value), ""});
  });
  return out;
}

}  // namespace

Contract contract_of(const Call& call) {
  return {call.problem, call.place, call.preparation};
}

DeviceSpec device_of(const Contract& contract, const DeviceSpec* by_hand) {
  DeviceSpec device = by_hand != nullptr ? *by_hand : device_at(contract.place);
  if (contract.preparation.allow_unverified) device.allow_unverified = true;
  const int limit = contract.preparation.sm_limit;
  if (limit == 0) return device;
  if (device.kind == DeviceKind::kCpu) {
    refuse({"sm-limit", "sm_limit", std::to_string(limit),
            "None: the operands are on a CPU (WGRAD_THREADS limits its threads)"});
  }
  device.sm_limit = limit;
  return device;
}

std::string key_of(const Contract& contract) {
  return key(contract);
}

std::string key_of(const Call& call) {
  return key(call);
}

std::vector<std::string> other_keys(const Call& call) {
  std::vector<std::string> keys;
  const auto other = [](Major major) { return major == Major::kK ? Major::kMn : Major::kK; };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      if ((a && !call.a_open) || (b && !call.b_open) || (!a && !b)) continue;
      Contract contract = contract_of(call);
      Problem& p = contract.problem;
      if (a) p.a_major = other(p.a_major);
      if (b) p.b_major = other(p.b_major);
      keys.push_back(key_of(contract));
    }
  }
  return keys;
}

Problem strided_as(Problem of, const Problem& strides) {
  of.wgrad_row_pitch = strides.wgrad_row_pitch;
  of.wgrad_expert_stride = strides.wgrad_expert_stride;
  return of;
}

bool serves(const Contract& contract, const Call& call) {
  const Problem& own = contract.problem;
  Problem problem = contract.strides_open ? strided_as(call.problem, own) : call.problem;
  problem.tokens = own.tokens;
  return problem == own && call.place == contract.place && call.preparation == contract.preparation;
}

Reasons differences(const Call& call, const Contract& contract) {
  Reasons out = descriptions(call);
  const Reasons needed = descriptions(contract);
  for (std::size_t i = 0; i < needed.size(); ++i) out[i].need = needed[i].got + ", as compiled";
  std::erase_if(out, [](const Reason& r) { return r.got + ", as compiled" == r.need; });
  return out;
}

}  // namespace wgrad::call
