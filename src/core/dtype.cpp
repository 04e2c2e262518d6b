#include "wgrad/dtype.hpp"

namespace wgrad {

std::string_view name(DType dtype) noexcept {
  switch (dtype) {
    case DType::kBf16:
      return "bfloat16";
    case DType::kF16:
      return "float16";
    case DType::kF32:
      return "float32";
    case DType::kE4m3:
      return "float8_e4m3fn";
    case DType::kE5m2:
      return "float8_e5m2";
    case DType::kE2m1:
      return "float4_e2m1fn_x2";
    case DType::kE8m0:
      return "float8_e8m0fnu";
  }
  return "unknown";
}

}  // namespace wgrad
