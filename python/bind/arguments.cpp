#include "arguments.hpp"

#include <string>

#include "frontend.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

std::optional<TensorView> read_optional(nb::handle object, const char* field) {
  if (object.is_none()) return std::nullopt;
  return read_tensor(object, field);
}

bool is_list(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

void read_outputs(Arguments& in, nb::handle wgrad_ptrs) {
  if (!is_list(wgrad_ptrs)) {
    in.wgrad_ptrs = read_optional(wgrad_ptrs, "wgrad_ptrs");
    return;
  }
  if (nb::len(wgrad_ptrs) == 0) {
    refuse({"shape", "wgrad_ptrs", "an empty list", "a list of (M, N) tensors, one per expert"});
  }
  std::size_t e = 0;
  for (const nb::handle output : wgrad_ptrs) {
    const std::string field = "wgrad_ptrs[" + std::to_string(e++) + "]";
    in.outputs.push_back(read_tensor(output, field.c_str()));
  }
}

}  // namespace

Arguments read_arguments(Api api, const Tensors& t) {
  Arguments in;
  in.a = read_tensor(t.a, "a");
  in.b = read_tensor(t.b, "b");
  in.offsets = read_tensor(t.offsets, "offsets");
  in.sfa = read_optional(t.sfa, "sfa");
  in.sfb = read_optional(t.sfb, "sfb");
  in.global_scale_a = read_optional(t.global_scale_a, "global_scale_a");
  in.global_scale_b = read_optional(t.global_scale_b, "global_scale_b");
  in.wgrad = read_optional(t.wgrad, "wgrad");
  in.workspace = read_optional(t.workspace, "workspace");
  read_outputs(in, t.wgrad_ptrs);
  if (api == Api::kNatural && in.a.rank == 2) in.a = in.a.transposed();  // x is (T, M)
  return in;
}

void need_output(OutputForm form, const Arguments& in) {
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

void check_grad(const Arguments& in) {
  refuse_detached(in.a, "a");
  refuse_detached(in.b, "b");
  if (in.wgrad) refuse_detached(*in.wgrad, "wgrad");
  for (const TensorView& output : in.outputs) refuse_detached(output, "wgrad_ptrs");
}

}  // namespace wgrad::python
