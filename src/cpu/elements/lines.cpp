#include "cpu/elements/lines.hpp"

#include <array>
#include <cmath>

#include "cpu/elements/line_loops.hpp"

namespace wgrad::cpu {
namespace {

/// Every loop of line_loops.hpp for one instruction set.
struct LineTable {
  WidenLine widen[2];                    ///< [f16]
  ScaleAcross across[2];                 ///< [e5m2]
  ScaleAlong along[3];                   ///< [e4m3, e5m2, e2m1]
  std::array<StoreLine, 3> store[3][2];  ///< [f32, bf16, f16][accumulate][Scaling]
};

// A target attribute cannot be a template parameter, so the macro writes one class of plain
// functions per instruction set; the loops are inlined into them and vectorised there.
// NOLINTBEGIN(bugprone-macro-parentheses): an attribute
#define WGRAD_LINE_FUNCTIONS(Name, target)                                                    \
  struct Name {                                                                               \
    template <class In>                                                                       \
    target static void widen(const void* in, float* out, std::int64_t n) {                    \
      loops::widen_line<In>(in, out, n);                                                      \
    }                                                                                         \
    template <class In>                                                                       \
    target static void across(const std::uint8_t* in, const float* scale, float* out,         \
                              std::int64_t n) {                                               \
      loops::scale_across<In>(in, scale, out, n);                                             \
    }                                                                                         \
    template <class In>                                                                       \
    target static void along(const std::uint8_t* in, const float* scale, int vec, float* out, \
                             std::int64_t n) {                                                \
      loops::scale_along<In>(in, scale, vec, out, n);                                         \
    }                                                                                         \
    template <class Out, bool kAccumulate, Scaling kScaling>                                  \
    target static void store(const float* acc, double factor, void* out, std::int64_t n) {    \
      loops::store_line<Out, kAccumulate, kScaling>(acc, factor, out, n);                     \
    }                                                                                         \
  }
// NOLINTEND(bugprone-macro-parentheses)

#define WGRAD_NO_TARGET
WGRAD_LINE_FUNCTIONS(Baseline, WGRAD_NO_TARGET);
#if defined(__x86_64__)
WGRAD_LINE_FUNCTIONS(Avx2, [[gnu::target("avx2")]]);
WGRAD_LINE_FUNCTIONS(Avx512, [[gnu::target("avx512f,avx512bw,avx512dq,avx512vl")]]);
#endif

template <class Set, class Out, bool kAccumulate>
constexpr std::array<StoreLine, 3> stores() {
  return {&Set::template store<Out, kAccumulate, Scaling::kNone>,
          &Set::template store<Out, kAccumulate, Scaling::kFloat>,
          &Set::template store<Out, kAccumulate, Scaling::kDouble>};
}

template <class Set>
constexpr LineTable make_table() {
  using loops::Bf16In, loops::Bf16Out, loops::F16In, loops::F16Out, loops::F32Out;
  return {
      {&Set::template widen<Bf16In>, &Set::template widen<F16In>},
      {&Set::template across<E4m3>, &Set::template across<E5m2>},
      {&Set::template along<E4m3>, &Set::template along<E5m2>, &Set::template along<E2m1>},
      {{stores<Set, F32Out, false>(), stores<Set, F32Out, true>()},
       {stores<Set, Bf16Out, false>(), stores<Set, Bf16Out, true>()},
       {stores<Set, F16Out, false>(), stores<Set, F16Out, true>()}},
  };
}

LineTable choose_table() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return make_table<Avx512>();
  }
  if (__builtin_cpu_supports("avx2")) return make_table<Avx2>();
#endif
  return make_table<Baseline>();
}

const LineTable& table() {
  static const LineTable kTable = choose_table();
  return kTable;
}

int element_index(DType element) {
  return element == DType::kE4m3 ? 0 : element == DType::kE5m2 ? 1 : 2;
}

}  // namespace

WidenLine widen_line(DType element) {
  return table().widen[element == DType::kF16 ? 1 : 0];
}

ScaleAcross scale_across(DType element) {
  return table().across[element == DType::kE5m2 ? 1 : 0];
}

ScaleAlong scale_along(DType element) {
  return table().along[element_index(element)];
}

Scaling scaling_for(double factor) noexcept {
  return std::isnormal(static_cast<float>(factor)) ? Scaling::kFloat : Scaling::kDouble;
}

StoreLine store_line(DType output, bool accumulate, Scaling scaling) {
  const int type = output == DType::kF32 ? 0 : output == DType::kBf16 ? 1 : 2;
  return table().store[type][accumulate ? 1 : 0][static_cast<std::size_t>(scaling)];
}

}  // namespace wgrad::cpu
