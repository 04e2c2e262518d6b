// Which kernels the emulated machine has. Without public headers, as device code wants it.
#pragma once

#include <array>

#include "wgrad/quantize/config.hpp"

namespace wgrad::quantize {

using shared::ElementType;
using shared::QuantizeConfig;
using shared::ScaleType;
using shared::SourceOrder;
using shared::SourceType;

constexpr QuantizeConfig mxfp8(SourceType source, SourceOrder order, ElementType element,
                               bool mn_major = false) {
  return {source, order, element, ScaleType::kE8m0, mn_major, false, false};
}
constexpr QuantizeConfig mxfp4(SourceType source, SourceOrder order) {
  return {source, order, ElementType::kE2m1, ScaleType::kE8m0, false, false, false};
}
constexpr QuantizeConfig nvfp4(SourceType source, SourceOrder order, bool stochastic = false,
                               bool hadamard = false) {
  return {source, order, ElementType::kE2m1, ScaleType::kE4m3, false, stochastic, hadamard};
}

inline constexpr std::array kCodeConfigs = {
    mxfp8(SourceType::kBf16, SourceOrder::kRowPairs, ElementType::kE4m3),
    mxfp8(SourceType::kBf16, SourceOrder::kRowPairs, ElementType::kE5m2, true),
    mxfp8(SourceType::kFp16, SourceOrder::kTokens, ElementType::kE5m2),
    mxfp8(SourceType::kFp32, SourceOrder::kElements, ElementType::kE4m3, true),
    mxfp8(SourceType::kFp32, SourceOrder::kRowPairs, ElementType::kE5m2),
    mxfp4(SourceType::kBf16, SourceOrder::kRowPairs),
    mxfp4(SourceType::kFp16, SourceOrder::kElements),
    mxfp4(SourceType::kFp32, SourceOrder::kTokens),
    nvfp4(SourceType::kBf16, SourceOrder::kRowPairs),
    nvfp4(SourceType::kFp16, SourceOrder::kTokens),
    nvfp4(SourceType::kFp32, SourceOrder::kElements),
    nvfp4(SourceType::kBf16, SourceOrder::kRowPairs, true, false),
    nvfp4(SourceType::kFp16, SourceOrder::kRowPairs, false, true),
    nvfp4(SourceType::kFp32, SourceOrder::kTokens, true, true),
};

inline constexpr std::array kAmaxConfigs = {
    nvfp4(SourceType::kBf16, SourceOrder::kRowPairs),
    nvfp4(SourceType::kFp16, SourceOrder::kTokens),
    nvfp4(SourceType::kFp32, SourceOrder::kElements),
    nvfp4(SourceType::kFp16, SourceOrder::kRowPairs, false, true),
    nvfp4(SourceType::kFp32, SourceOrder::kTokens, false, true),
};

}  // namespace wgrad::quantize
