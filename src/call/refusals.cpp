#include "call/refusals.hpp"

#include <array>

namespace wgrad::call {
namespace {

struct Row {
  std::string_view field, sample, call, natural;
};

constexpr std::array kRows = {
    Row{"a", "sample_a", "a_tensor", "x"},
    Row{"b", "sample_b", "b_tensor", "dy"},
    Row{"a_ld", "leading dimension of sample_a", "leading dimension of a_tensor",
        "leading dimension of x"},
    Row{"b_ld", "leading dimension of sample_b", "leading dimension of b_tensor",
        "leading dimension of dy"},
    Row{"sfa", "sample_sfa", "sfa_tensor", "x_scale"},
    Row{"sfb", "sample_sfb", "sfb_tensor", "dy_scale"},
    Row{"offsets", "sample_offsets", "offsets_tensor", "offsets"},
    Row{"global_scale_a", "sample_global_scale_a", "global_scale_a", "x_global_scale"},
    Row{"global_scale_b", "sample_global_scale_b", "global_scale_b", "dy_global_scale"},
    Row{"wgrad", "sample_wgrad", "wgrad_tensor", "out"},
    Row{"wgrad_ptrs", "wgrad_ptrs", "wgrad_ptrs", "out"},
    Row{"wgrad_dtype", "wgrad_dtype", "wgrad_dtype", "out_dtype"},
    Row{"workspace", "descriptor_workspace", "descriptor_workspace", "workspace"},
    Row{"stream", "current_stream", "current_stream", "stream"},
    Row{"accumulate", "accumulate_on_output", "accumulate_on_output", "accumulate"},
    Row{"m", "M (rows of sample_a)", "M (rows of a_tensor)", "M (columns of x)"},
    Row{"n", "N (columns of sample_b)", "N (columns of b_tensor)", "N (columns of dy)"},
    Row{"tokens", "T (columns of sample_a)", "T (columns of a_tensor)", "T (rows of x)"},
    Row{"num_experts", "E (length of sample_offsets)", "E (length of offsets_tensor)",
        "E (length of offsets)"},
    Row{"dtypes", "dtypes of sample_a, sample_b and scale factors",
        "dtypes of a_tensor, b_tensor and scale factors", "dtypes of x, dy and scale factors"},
    Row{"global_scale", "sample_global_scale_a and sample_global_scale_b",
        "global_scale_a and global_scale_b", "x_global_scale and dy_global_scale"},
};

}  // namespace

std::string_view argument(Api api, std::string_view field) {
  for (const Row& row : kRows) {
    if (row.field != field) continue;
    return api == Api::kSample ? row.sample : api == Api::kCall ? row.call : row.natural;
  }
  return field;
}

Reasons translate(Api api, Reasons reasons) {
  for (Reason& reason : reasons) {
    const std::string_view field = reason.field;
    const std::size_t end = std::min(field.find_first_of(" ["), field.size());
    reason.field =
        std::string(argument(api, field.substr(0, end))) + std::string(field.substr(end));
  }
  return reasons;
}

}  // namespace wgrad::call
