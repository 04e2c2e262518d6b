// Enumerations as the strings Python uses for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "wgrad/problem.hpp"
#include "wgrad/quantize.hpp"

namespace wgrad::call {

std::string_view spell(Major major) noexcept;         ///< "k", "mn"
std::string_view spell(InputOrder order) noexcept;    ///< "tensor2d", "tensor_ragged"
std::string_view spell(OutputMode mode) noexcept;     ///< "dense", "discrete"
std::string_view spell(ScaleLayout layout) noexcept;  ///< "swizzled", "compact"
std::string_view spell(Format format) noexcept;       ///< "16-bit", "mxfp8", "mxfp4", "nvfp4"

/// The inverse; throws ValueError naming `field`.
Major major_named(std::string_view text, const char* field);
InputOrder input_order_named(std::string_view text);
OutputMode output_mode_named(std::string_view text);
ScaleLayout scale_layout_named(std::string_view text);
Format format_named(std::string_view text);
ScalingMode scaling_mode_named(std::string_view text);  ///< "floor", "rceil"

}  // namespace wgrad::call
