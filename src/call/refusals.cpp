#include "call/refusals.hpp"

#include <algorithm>
#include <array>

#include "call/reference_words.hpp"

namespace wgrad::call {
namespace {

struct Row {
  std::string_view field, sample, call, natural;
};

constexpr std::array kRows = {
    // Parameters: tools/parameters writes these rows.
    Row{"a", "sample_a", "a_tensor", "x"},
    Row{"b", "sample_b", "b_tensor", "dy"},
    Row{"sfa", "sample_sfa", "sfa_tensor", "x_scale"},
    Row{"sfb", "sample_sfb", "sfb_tensor", "dy_scale"},
    Row{"offsets", "sample_offsets", "offsets_tensor", "offsets"},
    Row{"wgrad", "sample_wgrad", "wgrad_tensor", "out"},
    Row{"wgrad_ptrs", "wgrad_ptrs", "wgrad_ptrs", "out"},
    Row{"global_scale_a", "sample_global_scale_a", "global_scale_a", "x_global_scale"},
    Row{"global_scale_b", "sample_global_scale_b", "global_scale_b", "dy_global_scale"},
    Row{"accumulate", "accumulate_on_output", "accumulate_on_output", "accumulate"},
    Row{"fast_accumulation", "fast_accumulation", "fast_accumulation", "use_fast_accum"},
    Row{"wgrad_dtype", "wgrad_dtype", "wgrad_dtype", "out_dtype"},
    Row{"stream", "current_stream", "current_stream", "stream"},
    Row{"workspace", "descriptor_workspace", "descriptor_workspace", "workspace"},
    // What is made of them.
    Row{"a_ld", "leading dimension of sample_a", "leading dimension of a_tensor",
        "leading dimension of x"},
    Row{"b_ld", "leading dimension of sample_b", "leading dimension of b_tensor",
        "leading dimension of dy"},
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

/// Of a tensor that breaks such a rule all else can be judged.
bool leaves_readable(std::string_view rule) {
  constexpr std::array<std::string_view, 4> kRules = {"read-only", "device", "wgrad-dtype",
                                                      "requires-grad"};
  return std::find(kRules.begin(), kRules.end(), rule) != kRules.end();
}

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
    const std::string_view words = api == Api::kNatural ? "" : reference_words(reason);
    if (!words.empty()) reason.need.append(": ").append(words);
    const std::string_view field = reason.field;
    const std::size_t end = std::min(field.find_first_of(" ["), field.size());
    reason.field =
        std::string(argument(api, field.substr(0, end))) + std::string(field.substr(end));
  }
  return reasons;
}

std::string_view subject(const Reason& reason) {
  const std::string_view field = reason.field;
  const std::string_view name = field.substr(0, field.find_first_of(" ["));
  return name.ends_with("_ld") ? name.substr(0, name.size() - 3) : name;
}

void add_judged(Reasons& said, Reasons more) {
  const std::size_t before = said.size();
  const auto hides = [](const Reason& r, const Reason& reason) {
    return !leaves_readable(r.rule) && subject(r) == subject(reason);
  };
  for (Reason& reason : more) {
    const auto end = said.begin() + static_cast<std::ptrdiff_t>(before);
    const bool known =
        std::find(said.begin(), said.end(), reason) != said.end() ||
        std::any_of(said.begin(), end, [&](const Reason& r) { return hides(r, reason); });
    if (!known) said.push_back(std::move(reason));
  }
}

}  // namespace wgrad::call
