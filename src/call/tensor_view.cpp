#include "call/tensor_view.hpp"

#include <algorithm>

namespace wgrad::call {
namespace {

std::string tuple_text(const TensorView& view, const std::array<std::int64_t, kMaxRank>& values) {
  std::string text = "(";
  const int shown = std::min(view.rank, kMaxRank);
  for (int i = 0; i < shown; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(values[static_cast<std::size_t>(i)]);
  }
  if (view.rank > kMaxRank) text += ", ...";
  if (view.rank == 1) text += ",";
  return text + ")";
}

}  // namespace

std::string to_string(const Place& place) {
  return place.kind == DeviceKind::kCpu ? "cpu" : "cuda:" + std::to_string(place.ordinal);
}

DeviceSpec device_at(const Place& place) {
  return place.kind == DeviceKind::kCpu ? cpu_device() : cuda_device(place.ordinal);
}

std::int64_t TensorView::size() const noexcept {
  std::int64_t product = 1;
  for (int i = 0; i < std::min(rank, kMaxRank); ++i) product *= shape[static_cast<std::size_t>(i)];
  return product;
}

bool TensorView::contiguous() const noexcept {
  if (size() == 0) return true;
  std::int64_t packed = 1;
  for (int i = std::min(rank, kMaxRank) - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    if (shape[axis] > 1 && strides[axis] != packed) return false;
    packed *= shape[axis];
  }
  return true;
}

TensorView TensorView::transposed() const {
  TensorView out = *this;
  std::swap(out.shape[0], out.shape[1]);
  std::swap(out.strides[0], out.strides[1]);
  return out;
}

void set_packed_strides(TensorView& view) {
  std::int64_t packed = 1;
  for (int i = std::min(view.rank, kMaxRank) - 1; i >= 0; --i) {
    const auto axis = static_cast<std::size_t>(i);
    view.strides[axis] = packed;
    packed *= view.shape[axis];
  }
}

TensorView packed_view(void* data, Element element, std::span<const std::int64_t> shape,
                       const Place& place) {
  TensorView view;
  view.data = data;
  view.rank = static_cast<int>(shape.size());
  std::copy_n(shape.begin(), std::min<std::size_t>(shape.size(), kMaxRank), view.shape.begin());
  set_packed_strides(view);
  view.element = element;
  view.place = place;
  return view;
}

std::string shape_text(const TensorView& view) {
  return tuple_text(view, view.shape);
}
std::string strides_text(const TensorView& view) {
  return tuple_text(view, view.strides);
}

std::string dtype_text(const TensorView& view) {
  if (view.element != Element::kOther) return std::string(name(view.element));
  return view.dtype.empty() ? "of an unknown dtype" : view.dtype;
}

}  // namespace wgrad::call
