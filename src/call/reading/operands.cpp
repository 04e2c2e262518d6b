// A and B: which axis is contiguous, how many tokens, how far apart the rows.
#include <fmt/format.h>

#include "call/reading/builder.hpp"

namespace wgrad::call {
namespace {

struct OperandLayout {
  DType dtype = DType::kBf16;
  Major major = Major::kK;
  std::int64_t tokens = 0;  // unpacked
  std::int64_t extent = 0;  // M of A, N of B
  std::int64_t ld = 0;      // elements between rows; 0: packed, or without meaning
  bool open = false;        // the tokens are so few that the other major is as right
  bool whole = false;       // dtype and layout could be read, and with them the tokens
};

/// What a view that can be read both ways is taken for.
struct MajorChoice {
  Major major;
  bool settled;  // false: a view of a single row is read along that row
};

struct Axes {
  std::int64_t tokens, extent;  // extents of the token axis and of the other
  std::int64_t token_stride, extent_stride;

  bool empty() const { return tokens == 0 || extent == 0; }
  bool k_major() const { return empty() || tokens == 1 || token_stride == 1; }
  bool mn_major() const { return empty() || extent == 1 || extent_stride == 1; }
};

/// Where both readings hold and none is settled, the one with a single row: its leading dimension
/// cannot be wrong.
Major choose(const Axes& axes, MajorChoice choice) {
  if (axes.empty()) return choice.major;
  if (!axes.mn_major()) return Major::kK;
  if (!axes.k_major()) return Major::kMn;
  if (choice.settled) return choice.major;
  if (axes.tokens == 1 && axes.extent > 1) return Major::kMn;
  if (axes.extent == 1 && axes.tokens > 1) return Major::kK;
  return choice.major;
}

/// One token of 16 bits an element cannot be K-major: its rows would be 2 bytes apart.
std::int64_t most_tokens_of_both(DType dtype) {
  return bits(dtype) == 16 ? 0 : 1;
}

DType read_dtype(const TensorView& view, const char* field, Reasons& out) {
  const std::optional<DType> dtype = operand_dtype(view.element);
  const bool operand = dtype && *dtype != DType::kF32 && *dtype != DType::kE8m0;
  if (operand) return *dtype;
  if (view.element == Element::kE2m1Unpacked) {
    out.push_back({"fp4-packing", field, "float4_e2m1fn, one element per byte",
                   "packed two tokens per byte, as wgrad.pack_fp4 does it"});
  } else {
    out.push_back({"dtype", field, dtype_text(view),
                   "bfloat16, float16, float8_e4m3fn, float8_e5m2, float4_e2m1fn_x2 or uint8 "
                   "(packed FP4)"});
  }
  return DType::kBf16;
}

/// Reads a `view` whose tokens lie along `token_axis`. Adds to `out` what cannot be read.
OperandLayout read_operand(const TensorView& view, const char* field, int token_axis,
                           MajorChoice choice, InputOrder order, Reasons& out) {
  const std::size_t before = out.size();
  const auto k = static_cast<std::size_t>(token_axis);
  const Axes axes{view.shape[k], view.shape[1 - k], view.strides[k], view.strides[1 - k]};
  OperandLayout layout;
  layout.dtype = read_dtype(view, field, out);
  layout.whole = out.size() == before;
  const std::int64_t packing = layout.dtype == DType::kE2m1 ? 2 : 1;
  layout.tokens = axes.tokens * packing;
  layout.extent = axes.extent;
  if (!axes.k_major() && !axes.mn_major()) {
    out.push_back({"layout", field, "strided by " + strides_text(view) + " elements",
                   "contiguous along one of its axes, as a transposed or row-padded tensor is"});
    layout.whole = false;
    return layout;
  }
  if (packing == 2) choice = {Major::kK, true};  // two tokens share a byte
  layout.major = choose(axes, choice);
  layout.open = packing == 1 && axes.tokens <= most_tokens_of_both(layout.dtype) &&
                axes.k_major() && axes.mn_major();
  const bool k_major = layout.major == Major::kK;
  const std::int64_t rows = k_major ? axes.extent : axes.tokens;
  if (axes.empty() || rows == 1) return layout;
  const std::int64_t ld = (k_major ? axes.extent_stride : axes.token_stride) * packing;
  if (ld == 0) {
    out.push_back({"layout", field, "broadcast: its rows share memory (stride 0)",
                   "a tensor whose rows lie apart"});
  }
  const bool ragged = k_major && order == InputOrder::kTensorRagged;
  if (!ragged) {
    layout.ld = ld;
  } else if (axes.token_stride != 1 && ld != 1) {  // one token: nothing says how its rows lie
    out.push_back({"layout", field, "strided by " + strides_text(view) + " elements",
                   "contiguous in its expert blocks"});
  }
  return layout;
}

/// Token-major x and dy are MN-major; the drop-in functions expect K-major, as the reference does.
Problem usual_majors(Api api) {
  Problem p;
  p.a_major = p.b_major = api == Api::kNatural ? Major::kMn : Major::kK;
  return p;
}

/// The 2-D A or B; nothing but extents of 0 where it has another rank.
OperandLayout read_matrix(CallBuilder& builder, const TensorView& view, const char* field,
                          int token_axis, Major usual) {
  const bool natural = builder.reading.api == Api::kNatural && token_axis == 1;
  const char* const need = token_axis == 0 ? "2-D, (T, N)"
                           : natural       ? "2-D, (T, M)"
                                           : "2-D, (M, T)";
  if (!builder.check_rank(view, field, 2, need)) return {};
  const bool settled = builder.reading.compiled != nullptr;
  return read_operand(view, field, token_axis, {usual, settled}, builder.options.input_order,
                      builder.reasons);
}

void compare_tokens(CallBuilder& builder, const OperandLayout& a, const OperandLayout& b) {
  if (!a.whole || !b.whole || a.tokens == b.tokens) return;
  builder.refuse("tokens", "b", counted(b.tokens, "token") + " long",
                 fmt::format("as long as {}: {}", builder.named("a"), counted(a.tokens, "token")));
}

/// A width unlike the one that the operator was compiled for is blamed on the operand, and all else
/// is judged by what was compiled.
void compare_width(CallBuilder& builder, const char* field, int axis, std::int64_t& extent,
                   std::int64_t compiled) {
  if (extent == compiled) return;
  builder.refuse("compiled-shape", axis == 0 ? "m" : "n", std::to_string(extent),
                 fmt::format("{0}, as compiled: {1} shape mismatch: expected static dimension {0} "
                             "at axis {2}, got {3}",
                             compiled, builder.named(field), axis, extent));
  extent = compiled;
}

}  // namespace

void read_operands(CallBuilder& builder) {
  const Problem usual = usual_majors(builder.reading.api);
  const Problem* const compiled = builder.reading.compiled;
  const Problem& preferred = compiled != nullptr ? *compiled : usual;
  const OperandLayout a = read_matrix(builder, builder.in.a, "a", 1, preferred.a_major);
  const OperandLayout b = read_matrix(builder, builder.in.b, "b", 0, preferred.b_major);
  compare_tokens(builder, a, b);
  builder.known.m = builder.in.a.rank == 2;
  builder.known.n = builder.in.b.rank == 2;
  builder.known.formats = a.whole && b.whole;
  Problem& p = builder.call.problem;
  p.m = a.extent;
  p.n = b.extent;
  if (compiled != nullptr && builder.known.m) compare_width(builder, "a", 0, p.m, compiled->m);
  if (compiled != nullptr && builder.known.n) compare_width(builder, "b", 1, p.n, compiled->n);
  p.tokens = builder.known.m ? a.tokens : b.tokens;
  p.a_dtype = a.dtype;
  p.b_dtype = b.dtype;
  p.a_major = a.major;
  p.b_major = b.major;
  p.input_order = builder.options.input_order;
  builder.call.a_open = a.open;
  builder.call.b_open = b.open;
  Operands& o = builder.call.operands;
  o.tokens = p.tokens;
  o.a = builder.in.a.data;
  o.b = builder.in.b.data;
  o.a_ld = a.ld;
  o.b_ld = b.ld;
}

}  // namespace wgrad::call
