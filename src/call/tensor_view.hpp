// A tensor's description: an address, numbers and names. It owns nothing and knows no framework.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "call/element.hpp"
#include "wgrad/device_spec.hpp"

namespace wgrad::call {

/// Where a tensor lives. `ordinal` is -1 on a CPU.
struct Place {
  DeviceKind kind = DeviceKind::kCpu;
  int ordinal = -1;

  bool operator==(const Place&) const = default;
};
/// "cpu" or "cuda:<ordinal>".
std::string to_string(const Place& place);
/// Throws what cuda_device() does.
DeviceSpec device_at(const Place& place);

/// Most axes of which a view holds extents; no argument of a call has more than 3.
constexpr int kMaxRank = 4;

struct TensorView {
  void* data = nullptr;  ///< of the first element, on `place`
  int rank = 0;
  /// The first kMaxRank extents; strides count elements, of packed FP4 pairs of them.
  std::array<std::int64_t, kMaxRank> shape{};
  std::array<std::int64_t, kMaxRank> strides{};
  Element element = Element::kOther;
  std::string dtype;  ///< the framework's own name, for messages, where `element` is kOther
  Place place;
  bool writable = true;

  /// Elements of the first kMaxRank axes.
  std::int64_t size() const noexcept;
  /// Row-major without gaps; axes of extent 0 or 1 have no say.
  bool contiguous() const noexcept;
  /// Of a view of two axes or more: the first two change places.
  TensorView transposed() const;
};

/// A row-major tensor without gaps, as XLA hands them over.
TensorView packed_view(void* data, Element element, std::span<const std::int64_t> shape,
                       const Place& place);
/// Strides of a row-major tensor without gaps.
void set_packed_strides(TensorView& view);

std::string shape_text(const TensorView& view);
std::string strides_text(const TensorView& view);
std::string dtype_text(const TensorView& view);

}  // namespace wgrad::call
