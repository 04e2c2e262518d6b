#include "harness/elements.hpp"

#include <cstring>

#include "wgrad/codec.hpp"

namespace wgrad::harness {

double load(DType dtype, const std::byte* array, std::int64_t index) {
  if (dtype == DType::kF32) {
    float value = 0;
    std::memcpy(&value, array + index * 4, 4);
    return value;
  }
  std::uint16_t code = 0;
  std::memcpy(&code, array + index * 2, 2);
  return decode(dtype, code);
}

void store(DType dtype, std::byte* array, std::int64_t index, float value) {
  if (dtype == DType::kF32) {
    std::memcpy(array + index * 4, &value, 4);
    return;
  }
  const auto code = static_cast<std::uint16_t>(encode(dtype, value));
  std::memcpy(array + index * 2, &code, 2);
}

double unit_roundoff(DType dtype) {
  return dtype == DType::kF32 ? 0x1p-24 : dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

double smallest(DType dtype) {
  return decode(dtype, 1);
}

}  // namespace wgrad::harness
