// A tensor of any framework as plain numbers: no copy, no ownership of the data.
#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "dlpack_abi.hpp"
#include "element.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::python {

/// Where a tensor lives. `ordinal` is -1 on a CPU.
struct Place {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = -1;

  bool operator==(const Place&) const = default;
};
std::string to_string(const Place& place);
DeviceSpec device_at(const Place& place);

constexpr int kMaxRank = 4;

struct TensorView {
  void* data = nullptr;
  int rank = 0;
  /// The first kMaxRank extents; strides count elements.
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  Element element = Element::kOther;
  Place place;
  bool writable = true;
  bool torch = false;  ///< a torch tensor: it may require grad, and it knows its streams
  const dlpack::ExchangeApi* exchange = nullptr;
  nanobind::handle object;  ///< what was given; alive while the call lasts
  nanobind::object keeps;   ///< keeps a temporary view of it alive

  std::int64_t size() const noexcept;
  /// Row-major without gaps; axes of extent 0 or 1 have no say.
  bool contiguous() const noexcept;
  TensorView transposed() const;
};

std::string shape_text(const TensorView& view);
std::string strides_text(const TensorView& view);
/// The framework's own name of the dtype, for messages.
std::string dtype_text(const TensorView& view);

/// Reads `object`, called `field` by the core. Throws ValueError for what is no tensor.
TensorView read_tensor(nanobind::handle object, const char* field);

}  // namespace wgrad::python
