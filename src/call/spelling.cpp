#include "call/spelling.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "call/refusals.hpp"

namespace wgrad::call {
namespace {

template <class T, std::size_t kCount>
using Spellings = std::array<std::pair<std::string_view, T>, kCount>;

constexpr Spellings<Major, 2> kMajors = {{{"k", Major::kK}, {"mn", Major::kMn}}};
constexpr Spellings<InputOrder, 2> kOrders = {
    {{"tensor2d", InputOrder::kTensor2d}, {"tensor_ragged", InputOrder::kTensorRagged}}};
constexpr Spellings<OutputMode, 2> kModes = {
    {{"dense", OutputMode::kDense}, {"discrete", OutputMode::kDiscrete}}};
constexpr Spellings<ScaleLayout, 2> kLayouts = {
    {{"swizzled", ScaleLayout::kSwizzled}, {"compact", ScaleLayout::kCompact}}};
constexpr Spellings<ScalingMode, 2> kScalingModes = {
    {{"floor", ScalingMode::kFloor}, {"rceil", ScalingMode::kRceil}}};
constexpr Spellings<Format, 6> kFormats = {{{"16-bit", Format::kSixteenBit},
                                            {"mxfp8", Format::kMxfp8},
                                            {"mxfp4", Format::kMxfp4},
                                            {"nvfp4", Format::kNvfp4},
                                            {"fp8-rowwise", Format::kFp8Rowwise},
                                            {"fp8-1x128", Format::kFp8Blocks}}};

template <class T, std::size_t kCount>
std::string_view spelling(const Spellings<T, kCount>& all, T value) noexcept {
  for (const auto& [text, known] : all) {
    if (known == value) return text;
  }
  return "unknown";
}

template <class T, std::size_t kCount>
T named(const Spellings<T, kCount>& all, std::string_view text, const char* field) {
  std::string choices;
  for (const auto& [known, value] : all) {
    if (known == text) return value;
    choices += fmt::format("{}'{}'", choices.empty() ? "" : " or ", known);
  }
  refuse({"choice", field, fmt::format("'{}'", text),
          fmt::format("{} (unsupported {} '{}')", choices, field, text)});
}

}  // namespace

std::string_view spell(Major major) noexcept {
  return spelling(kMajors, major);
}
std::string_view spell(InputOrder order) noexcept {
  return spelling(kOrders, order);
}
std::string_view spell(OutputMode mode) noexcept {
  return spelling(kModes, mode);
}
std::string_view spell(ScaleLayout layout) noexcept {
  return spelling(kLayouts, layout);
}
std::string_view spell(Format format) noexcept {
  return spelling(kFormats, format);
}

Major major_named(std::string_view text, const char* field) {
  return named(kMajors, text, field);
}
InputOrder input_order_named(std::string_view text) {
  return named(kOrders, text, "input_order");
}
OutputMode output_mode_named(std::string_view text) {
  return named(kModes, text, "output_mode");
}
ScaleLayout scale_layout_named(std::string_view text) {
  return named(kLayouts, text, "scale_layout");
}
Format format_named(std::string_view text) {
  return named(kFormats, text, "format");
}
ScalingMode scaling_mode_named(std::string_view text) {
  return named(kScalingModes, text, "scaling_mode");
}

}  // namespace wgrad::call
