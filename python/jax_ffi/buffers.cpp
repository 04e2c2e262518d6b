#include "buffers.hpp"

#include <string>

#include "wgrad/errors.hpp"
#include "wgrad/scale_layout.hpp"

namespace wgrad::jax {
namespace {

namespace ffi = xla::ffi;

/// Hands out a call's arguments one after another.
class Arguments {
 public:
  explicit Arguments(ffi::RemainingArgs all) : all_(all) {}

  ffi::AnyBuffer next() {
    const auto buffer = all_.get<ffi::AnyBuffer>(taken_++);
    if (!buffer.has_value()) {
      throw ValueError("wgrad: the custom call has " + std::to_string(all_.size()) +
                       " arguments, too few for its attributes");
    }
    return *buffer;
  }
  template <class T>
  const T* next_data() {
    return static_cast<const T*>(next().untyped_data());
  }
  bool left() const { return taken_ < all_.size(); }

 private:
  ffi::RemainingArgs all_;
  std::size_t taken_ = 0;
};

/// Tokens of an operand whose token axis is the first, or where K-major the last.
std::int64_t tokens_of(const ffi::AnyBuffer& a, const Problem& problem) {
  const auto dimensions = a.dimensions();
  if (problem.a_major == Major::kMn) return dimensions.front();
  return dimensions.back() * (problem.a_dtype == DType::kE2m1 ? 2 : 1);
}

/// Scale columns of a tensor of `rows` rows, 2-D or flat.
std::int64_t scale_columns(const ffi::AnyBuffer& scales, std::int64_t extent, ScaleLayout layout) {
  const std::int64_t rows = scale_bytes(extent, 1, layout);
  return rows == 0 ? 0 : static_cast<std::int64_t>(scales.element_count()) / rows;
}

void read_scales(const Problem& problem, const ScaleSpec& spec, Arguments& in, Operands& out) {
  const ffi::AnyBuffer sfa = in.next();
  const ffi::AnyBuffer sfb = in.next();
  out.sfa = sfa.untyped_data();
  out.sfb = sfb.untyped_data();
  out.sfa_cols = scale_columns(sfa, problem.m, spec.layout);
  out.sfb_cols = scale_columns(sfb, problem.n, spec.layout);
  if (!spec.global_scale) return;
  out.global_scale_a = in.next_data<float>();
  out.global_scale_b = in.next_data<float>();
}

void read_output(const Problem& problem, Arguments& in, ffi::RemainingRets results, Operands& out) {
  auto result = results.get<ffi::AnyBuffer>(0);
  if (results.size() != 1 || !result.has_value()) {
    throw ValueError("wgrad: the custom call has " + std::to_string(results.size()) +
                     " results; it must have one");
  }
  void* const memory = (*result)->untyped_data();
  if (problem.output_mode == OutputMode::kDiscrete) {
    out.wgrad_ptrs = in.next_data<std::int64_t>();
    return;
  }
  out.wgrad = memory;
  if (problem.accumulate || in.left()) {
    if (in.next_data<void>() != memory) {
      throw ValueError(
          "wgrad: the output of the custom call lies in other memory than the array "
          "it should take");
    }
  }
}

}  // namespace

Operands read_buffers(const Problem& problem, ffi::RemainingArgs arguments,
                      ffi::RemainingRets results) {
  Arguments in(arguments);
  Operands out;
  const ffi::AnyBuffer a = in.next();
  out.tokens = tokens_of(a, problem);
  out.a = a.untyped_data();
  out.b = in.next_data<void>();
  out.offsets = in.next_data<std::int32_t>();
  if (problem.scales) read_scales(problem, *problem.scales, in, out);
  read_output(problem, in, results, out);
  return out;
}

}  // namespace wgrad::jax
