#include <fmt/format.h>

#include "call/reading/builder.hpp"

namespace wgrad::call {
namespace {

constexpr const char* kBroadcast = "broadcast: its rows share memory (stride 0)";

/// The output's own dtype wins over the default; only an explicit other one contradicts it.
void read_output_dtype(CallBuilder& b, const TensorView& view, const std::string& field) {
  const auto dtype = output_dtype(view.element);
  const auto wanted = b.reading.compiled == nullptr ? b.options.wgrad_dtype : std::nullopt;
  if (!dtype) {
    b.refuse("dtype", field, dtype_text(view), "bfloat16, float16 or float32");
  } else if (wanted && *wanted != *dtype) {
    b.refuse("wgrad-dtype", "wgrad_dtype", std::string(name(*wanted)),
             fmt::format("None or {}, the dtype of the given output", name(*dtype)));
  } else {
    b.call.problem.wgrad_dtype = *dtype;
  }
  if (!view.writable) b.refuse("read-only", field, "read-only", "writable");
}

/// What the inputs left open, the output says.
void fill_in_extents(CallBuilder& b, std::int64_t experts, std::int64_t m, std::int64_t n) {
  Problem& p = b.call.problem;
  if (!b.known.experts) p.experts = experts;
  if (!b.known.m) p.m = m;
  if (!b.known.n) p.n = n;
  b.known.experts = b.known.m = b.known.n = true;
}

/// The other orientation of the same gradient has a way of its own.
std::string orientation_hint(const CallBuilder& b, bool transposed) {
  if (!transposed) return "";
  return fmt::format("; for (N, M) swap {} and {}", b.named("a"), b.named("b"));
}

bool check_shape(CallBuilder& b, const TensorView& w) {
  if (!b.check_rank(w, "wgrad", 3, "3-D, (E, M, N)")) return false;
  fill_in_extents(b, w.shape[0], w.shape[1], w.shape[2]);
  const Problem& p = b.call.problem;
  const bool matrix_fits = w.shape[1] == p.m && w.shape[2] == p.n;
  if (w.shape[0] == p.experts && matrix_fits) return true;
  if (matrix_fits) {
    b.refuse("shape", "offsets", "of shape " + shape_text(b.in.offsets),
             fmt::format("({},), one end per expert of {}", w.shape[0], b.named("wgrad")));
  } else {
    const bool transposed = w.shape[1] == p.n && w.shape[2] == p.m;
    b.refuse("shape", "wgrad", "of shape " + shape_text(w),
             fmt::format("(E, M, N) = ({}, {}, {})", p.experts, p.m, p.n) +
                 orientation_hint(b, transposed));
  }
  return false;
}

/// Default strides stay 0, so that two spellings of a packed output have one key.
void set_strides(CallBuilder& b, Problem& p, const TensorView& w) {
  if (p.m > 1 && w.strides[1] != p.n) p.wgrad_row_pitch = w.strides[1];
  if (p.experts > 1 && w.strides[0] != expert_stride(p)) p.wgrad_expert_stride = w.strides[0];
  if ((p.m > 1 && w.strides[1] == 0) || (p.experts > 1 && w.strides[0] == 0)) {
    b.refuse("layout", "wgrad", kBroadcast, "a tensor whose rows lie apart");
  }
}

/// The results go elsewhere, yet what is given is judged in full: as if it stood alone, and in rows
/// as packed as those behind addresses are.
void check_beside_pointers(CallBuilder& b, const TensorView& w) {
  Problem p = b.call.problem;
  Operands o = b.call.operands;
  p.output_mode = OutputMode::kDense;
  set_strides(b, p, w);
  o.wgrad = w.data;
  if (row_pitch(p) > p.n) {
    b.refuse("layout", "wgrad", "strided by " + strides_text(w) + " elements",
             "of packed rows beside " + b.named("wgrad_ptrs") +
                 ", through which each expert is written without gaps");
  }
  for (Reason& reason : check_operands(p, o).reasons) b.reasons.push_back(std::move(reason));
}

void read_stacked(CallBuilder& b, const TensorView& w) {
  if (!check_shape(b, w)) return;
  read_output_dtype(b, w, "wgrad");
  if (w.strides[2] != 1 && b.call.problem.n > 1) {
    b.refuse("layout", "wgrad", "strided by " + strides_text(w) + " elements",
             "contiguous along N: strides (M*N, N, 1), or padded rows or experts" +
                 orientation_hint(b, w.strides[1] == 1));
  }
  if (b.reading.form == OutputForm::kPointers) return check_beside_pointers(b, w);
  set_strides(b, b.call.problem, w);
  b.call.operands.wgrad = w.data;
}

void read_separate_output(CallBuilder& b, std::size_t e) {
  const Problem& p = b.call.problem;
  const TensorView& w = b.in.outputs[e];
  const TensorView& first = b.in.outputs.front();
  const std::string field = fmt::format("wgrad_ptrs[{}]", e);
  if (w.rank != 2 || w.shape[0] != p.m || w.shape[1] != p.n || !w.contiguous()) {
    const bool transposed = w.rank == 2 && w.shape[0] == p.n && w.shape[1] == p.m;
    b.refuse(
        "shape", field, "of shape " + shape_text(w) + " and strides " + strides_text(w),
        fmt::format("(M, N) = ({}, {}), contiguous", p.m, p.n) + orientation_hint(b, transposed));
  }
  if (w.element != first.element) {
    b.refuse("dtype", field, dtype_text(w), "of the dtype of the first: " + dtype_text(first));
  } else {
    read_output_dtype(b, w, field);
  }
  b.check_place(w, field);
  b.call.addresses.push_back(reinterpret_cast<std::int64_t>(w.data));
}

void read_separate(CallBuilder& b) {
  const std::size_t given = b.in.outputs.size();
  const TensorView& first = b.in.outputs.front();
  if (first.rank == 2) {
    fill_in_extents(b, static_cast<std::int64_t>(given), first.shape[0], first.shape[1]);
  }
  if (static_cast<std::int64_t>(given) != b.call.problem.experts) {
    b.refuse("shape", "wgrad_ptrs", fmt::format("a list of {} tensors", given),
             fmt::format("a list of {}, one per expert", b.call.problem.experts));
    return;
  }
  for (std::size_t e = 0; e < given; ++e) read_separate_output(b, e);
  b.call.operands.wgrad_ptrs = b.call.addresses.data();
  const bool seen_by_run = b.call.place.kind == DeviceKind::kCpu;
  if (!b.reasons.empty() || seen_by_run) return;
  b.reasons = check_data(b.call.problem, b.call.operands, {}, b.call.addresses).reasons;
}

void read_pointers(CallBuilder& b) {
  b.call.problem.output_mode = OutputMode::kDiscrete;
  if (!b.in.outputs.empty()) return read_separate(b);
  if (!b.in.wgrad_ptrs) return;
  const TensorView& table = *b.in.wgrad_ptrs;
  if (table.element != Element::kI64) {
    b.refuse("dtype", "wgrad_ptrs", dtype_text(table), "int64, one address per expert");
  }
  b.check_per_expert(table, "wgrad_ptrs");
  b.call.operands.wgrad_ptrs = static_cast<const std::int64_t*>(table.data);
}

DType default_dtype(const CallBuilder& b) {
  if (b.reading.compiled != nullptr) return b.reading.compiled->wgrad_dtype;
  const DType input = b.call.problem.a_dtype;
  const bool as_input = b.reading.api == Api::kNatural && is_sixteen_bit(input);
  return b.options.wgrad_dtype.value_or(as_input ? input : DType::kBf16);
}

}  // namespace

void read_output(CallBuilder& b) {
  b.call.problem.wgrad_dtype = default_dtype(b);
  if (b.in.wgrad) read_stacked(b, *b.in.wgrad);
  if (b.reading.form == OutputForm::kPointers) read_pointers(b);
}

void need_output(OutputForm form, const Tensors& in) {
  if (form == OutputForm::kStacked && !in.wgrad) {
    refuse({"output", "wgrad", "None", "given: this operator writes into it"});
  }
  if (form == OutputForm::kStacked && (in.wgrad_ptrs || !in.outputs.empty())) {
    refuse({"output", "wgrad_ptrs", "given", "None: this operator writes into one tensor"});
  }
  if (form == OutputForm::kPointers && !in.wgrad_ptrs && in.outputs.empty()) {
    refuse({"output", "wgrad_ptrs", "None", "given: this operator writes through addresses"});
  }
}

}  // namespace wgrad::call
