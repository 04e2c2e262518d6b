#include "contract.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "frontend.hpp"
#include "request.hpp"
#include "stream.hpp"
#include "unlocked.hpp"

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

const char* text(Major major) {
  return major == Major::kK ? "K-major" : "MN-major";
}

void compare(Reasons& out, const char* field, const std::string& got, const std::string& need) {
  if (got != need) out.push_back({"static-contract", field, got, need + ", as compiled"});
}

void compare(Reasons& out, const char* field, std::int64_t got, std::int64_t need) {
  compare(out, field, std::to_string(got), std::to_string(need));
}

std::string text(const std::optional<ScaleSpec>& scales) {
  if (!scales) return "None";
  return std::string(name(scales->dtype)) + (scales->global_scale ? " with global scales" : "");
}

std::string output_strides(const Problem& p) {
  return "strided by (" + std::to_string(expert_stride(p)) + ", " + std::to_string(row_pitch(p)) +
         ", 1)";
}

/// What differs between a call and the operator it was made with, token counts aside.
Reasons differences(const Problem& got, const Problem& need) {
  Reasons out;
  compare(out, "m", got.m, need.m);
  compare(out, "n", got.n, need.n);
  compare(out, "num_experts", got.experts, need.experts);
  compare(out, "a", std::string(name(got.a_dtype)), std::string(name(need.a_dtype)));
  compare(out, "b", std::string(name(got.b_dtype)), std::string(name(need.b_dtype)));
  compare(out, "a", text(got.a_major), text(need.a_major));
  compare(out, "b", text(got.b_major), text(need.b_major));
  compare(out, "sfa", text(got.scales), text(need.scales));
  compare(out, "wgrad", std::string(name(got.wgrad_dtype)), std::string(name(need.wgrad_dtype)));
  compare(out, "wgrad", output_strides(got), output_strides(need));
  return out;
}

bool same_contract(Problem got, const Problem& need) {
  got.tokens = need.tokens;
  return got == need;
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

/// Separate CUDA outputs: their addresses as a tensor on the device, filled on the launch stream.
nb::object device_table(Call& call) {
  nb::list addresses;
  for (const std::int64_t address : call.addresses) addresses.append(address);
  nb::object table = torch_frontend("pointer_table")(
      addresses, call.place.ordinal, reinterpret_cast<std::uintptr_t>(call.operands.stream));
  const TensorView view = read_tensor(table, "wgrad_ptrs");
  call.operands.wgrad_ptrs = static_cast<const std::int64_t*>(view.data);
  return table;
}

/// The pointer table is read when the stream gets there, so torch must not reuse it before.
void record_pointers(nb::handle table, const Call& call) {
  torch_frontend("record_stream")(table, reinterpret_cast<std::uintptr_t>(call.operands.stream),
                                  call.place.ordinal);
}

void launch(const Executable& executable, const Operands& operands) {
  const Unlocked unlocked;
  executable.run(operands);
}

void launch_on_cuda(const Executable& executable, Call& call, const Arguments& in) {
  nb::object table;
  if (!in.outputs.empty()) {
    table = device_table(call);
  } else if (in.wgrad_ptrs && in.wgrad_ptrs->torch) {
    table = nb::borrow(in.wgrad_ptrs->object);
  }
  launch(executable, call.operands);
  if (table.is_valid()) record_pointers(table, call);
}

void check_grad(const Arguments& in) {
  refuse_detached(in.a, "a");
  refuse_detached(in.b, "b");
  if (in.wgrad) refuse_detached(*in.wgrad, "wgrad");
  for (const TensorView& output : in.outputs) refuse_detached(output, "wgrad_ptrs");
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

std::string key_of(const Problem& p, const Place& place, const Options& options) {
  const ScaleSpec scales = p.scales.value_or(ScaleSpec{});
  const std::array<std::int64_t, 27> fields = {
      p.experts,
      p.m,
      p.n,
      static_cast<std::int64_t>(p.a_dtype),
      static_cast<std::int64_t>(p.b_dtype),
      static_cast<std::int64_t>(p.a_major),
      static_cast<std::int64_t>(p.b_major),
      static_cast<std::int64_t>(p.input_order),
      static_cast<std::int64_t>(p.scales.has_value()),
      static_cast<std::int64_t>(scales.dtype),
      scales.vec_size,
      static_cast<std::int64_t>(scales.layout),
      static_cast<std::int64_t>(scales.global_scale),
      static_cast<std::int64_t>(p.wgrad_dtype),
      static_cast<std::int64_t>(p.acc_dtype),
      static_cast<std::int64_t>(p.output_mode),
      p.wgrad_expert_stride,
      p.wgrad_row_pitch,
      static_cast<std::int64_t>(p.accumulate),
      p.tiling.tile_m,
      p.tiling.tile_n,
      p.tiling.cluster_m,
      p.tiling.cluster_n,
      static_cast<std::int64_t>(place.kind),
      place.ordinal,
      static_cast<std::int64_t>(options.validate_device_data),
      options.sm_limit,
  };
  std::string bytes(sizeof fields, '\0');
  std::memcpy(bytes.data(), fields.data(), sizeof fields);
  return bytes + options.backend;
}

std::vector<std::string> other_keys(const Call& call, const Options& options) {
  std::vector<std::string> keys;
  const auto other = [](Major major) { return major == Major::kK ? Major::kMn : Major::kK; };
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      if ((a && !call.a_open) || (b && !call.b_open) || (!a && !b)) continue;
      Problem p = call.problem;
      if (a) p.a_major = other(p.a_major);
      if (b) p.b_major = other(p.b_major);
      keys.push_back(key_of(p, call.place, options));
    }
  }
  return keys;
}

std::string Contract::key() const {
  return key_of(problem, place, options);
}

DeviceSpec Contract::device(const DeviceSpec* by_hand) const {
  DeviceSpec device = by_hand != nullptr ? *by_hand : device_at(place);
  if (options.sm_limit == 0) return device;
  if (device.kind == DeviceKind::kCpu) {
    refuse({"sm-limit", "sm_limit", std::to_string(options.sm_limit),
            "None: the operands are on a CPU (WGRAD_THREADS limits its threads)"});
  }
  device.sm_limit = options.sm_limit;
  return device;
}

Compiled::Compiled(Contract contract)
    : contract_(std::move(contract)),
      executable_(prepare(contract_.problem, contract_.device(),
                          {contract_.options.backend, contract_.options.validate_device_data,
                           contract_.place.ordinal})) {
  // Later calls under the same key may have left the vector size to the dtype, or the reverse.
  if (contract_.problem.scales) {
    contract_.options.sf_vec_size = contract_.problem.scales->vec_size;
  }
}

void Compiled::check(const Arguments& in, Call& call) const {
  check_grad(in);
  if (call.a_open) call.problem.a_major = contract_.problem.a_major;
  if (call.b_open) call.problem.b_major = contract_.problem.b_major;
  if (!same_contract(call.problem, contract_.problem)) {
    refuse_if_any(differences(call.problem, contract_.problem));
  }
  if (call.place != contract_.place) {
    refuse({"device", "a", "on " + to_string(call.place),
            "on " + to_string(contract_.place) + ", as compiled"});
  }
}

void Compiled::run(Api api, const Tensors& tensors, nb::handle stream) const {
  in_words_of(api, [&] {
    const Arguments in = read_arguments(api, tensors);
    need_output(contract_.form, in);
    Call call = read_call(in, contract_.options, contract_.form, api, &contract_.problem);
    check(in, call);
    call.operands.stream = stream_handle(stream, in.a);
    run(in, call);
  });
}

void Compiled::run(Request& request) const {
  in_words_of(request.api(), [&] {
    need_output(contract_.form, request.arguments());
    check(request.arguments(), request.call());
    run(request.arguments(), request.call());
  });
}

void Compiled::run(const Arguments& in, Call& call) const {
  if (call.place.kind == DeviceKind::kCuda) {
    launch_on_cuda(executable_, call, in);
  } else {
    launch(executable_, call.operands);
  }
  mark_written(in.wgrad ? std::span(&*in.wgrad, 1) : std::span(in.outputs));
}

std::shared_ptr<const Compiled> CompiledCalls::find(const Call& call, const Options& options,
                                                    OutputForm form) {
  std::string key = key_of(call.problem, call.place, options);
  if (const auto found = operators_.find(key); found != operators_.end()) return found->second;
  for (const std::string& other : other_keys(call, options)) {
    if (const auto found = operators_.find(other); found != operators_.end()) return found->second;
  }
  auto made = std::make_shared<const Compiled>(Contract{call.problem, call.place, options, form});
  operators_[std::move(key)] = made;
  return made;
}

void CompiledCalls::prepare(const Request& request) {
  in_words_of(request.api(), [&] { find(request.call(), request.options(), request.form()); });
}

void CompiledCalls::run(Request& request) {
  in_words_of(request.api(),
              [&] { find(request.call(), request.options(), request.form())->run(request); });
}

void CompiledCalls::run(const Tensors& tensors, const Options& options, OutputForm form,
                        nb::handle stream) {
  in_words_of(Api::kNatural, [&] {
    const Arguments in = read_arguments(Api::kNatural, tensors);
    need_output(form, in);
    check_grad(in);
    Call call = read_call(in, options, form, Api::kNatural);
    call.operands.stream = stream_handle(stream, in.a);
    // Kept alive: the GIL is released while it runs.
    const std::shared_ptr<const Compiled> compiled = find(call, options, form);
    compiled->run(in, call);
  });
}

std::optional<DeviceFault> CompiledCalls::fault() const {
  for (const auto& [key, compiled] : operators_) {
    if (auto seen = compiled->executable().fault()) return seen;
  }
  return std::nullopt;
}

void CompiledCalls::clear_fault() const {
  for (const auto& [key, compiled] : operators_) compiled->executable().clear_fault();
}

}  // namespace wgrad::python
