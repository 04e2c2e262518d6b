#include "call/element.hpp"

#include <array>
#include <string>
#include <utility>

#include "call/refusals.hpp"

namespace wgrad::call {
namespace {

constexpr std::array kNames = {
    std::pair{std::string_view("bfloat16"), Element::kBf16},
    std::pair{std::string_view("float16"), Element::kF16},
    std::pair{std::string_view("float32"), Element::kF32},
    std::pair{std::string_view("float8_e4m3fn"), Element::kE4m3},
    std::pair{std::string_view("float8_e5m2"), Element::kE5m2},
    std::pair{std::string_view("float8_e8m0fnu"), Element::kE8m0},
    std::pair{std::string_view("float4_e2m1fn_x2"), Element::kE2m1Packed},
    std::pair{std::string_view("float4_e2m1fn"), Element::kE2m1Unpacked},
    std::pair{std::string_view("uint8"), Element::kU8},
    std::pair{std::string_view("int32"), Element::kI32},
    std::pair{std::string_view("int64"), Element::kI64},
};

constexpr std::array kDTypes = {
    std::pair{Element::kBf16, DType::kBf16},       std::pair{Element::kF16, DType::kF16},
    std::pair{Element::kF32, DType::kF32},         std::pair{Element::kE4m3, DType::kE4m3},
    std::pair{Element::kE5m2, DType::kE5m2},       std::pair{Element::kE8m0, DType::kE8m0},
    std::pair{Element::kE2m1Packed, DType::kE2m1},
};

}  // namespace

Element element_named(std::string_view text) {
  constexpr std::string_view kTorch = "torch.";
  if (text.substr(0, kTorch.size()) == kTorch) text.remove_prefix(kTorch.size());
  for (const auto& [known, element] : kNames) {
    if (known == text) return element;
  }
  return Element::kOther;
}

std::optional<DType> operand_dtype(Element element) noexcept {
  if (element == Element::kU8) return DType::kE2m1;
  for (const auto& [from, to] : kDTypes) {
    if (from == element) return to;
  }
  return std::nullopt;
}

std::optional<DType> output_dtype(Element element) noexcept {
  const bool known =
      element == Element::kBf16 || element == Element::kF16 || element == Element::kF32;
  return known ? operand_dtype(element) : std::nullopt;
}

DType dtype_named(std::string_view text, const char* field) {
  const Element element = element_named(text);
  if (element == Element::kE2m1Unpacked) return DType::kE2m1;
  const auto dtype = element == Element::kU8 ? std::nullopt : operand_dtype(element);
  if (!dtype) {
    refuse({"dtype", field, std::string(text),
            "one of bfloat16, float16, float32, float8_e4m3fn, float8_e5m2, float8_e8m0fnu, "
            "float4_e2m1fn_x2"});
  }
  return *dtype;
}

std::string_view name(Element element) noexcept {
  for (const auto& [text, known] : kNames) {
    if (known == element) return text;
  }
  return "an unknown dtype";
}

}  // namespace wgrad::call
