#include "compiled.hpp"

#include <string>
#include <utility>

#include "frontend.hpp"
#include "request.hpp"
#include "stream.hpp"
#include "unlocked.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

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

Executable prepared(const Contract& contract, const Problem& problem, int candidate = 0) {
  return prepare(problem, contract.device(),
                 {.backend = contract.options.backend,
                  .validate_device_data = contract.options.validate_device_data,
                  .device = contract.place.ordinal,
                  .candidate = candidate});
}

/// `of` with the output's strides of `strides`.
Problem strided_as(Problem of, const Problem& strides) {
  of.wgrad_row_pitch = strides.wgrad_row_pitch;
  of.wgrad_expert_stride = strides.wgrad_expert_stride;
  return of;
}

}  // namespace

Compiled::Compiled(Contract contract, int candidate)
    : contract_(std::move(contract)),
      executable_(prepared(contract_, contract_.problem, candidate)) {
  // Later calls under the same key may have left the vector size to the dtype, or the reverse.
  if (contract_.problem.scales) {
    contract_.options.sf_vec_size = contract_.problem.scales->vec_size;
  }
}

bool Compiled::keeps_contract(const Problem& call) const {
  const Problem& own = contract_.problem;
  return same_contract(contract_.strides_open ? strided_as(call, own) : call, own);
}

const Executable& Compiled::executable_for(const Problem& call) const {
  const Problem problem = strided_as(contract_.problem, call);
  if (problem == contract_.problem) return executable_;
  const std::pair strides{call.wgrad_row_pitch, call.wgrad_expert_stride};
  const auto found = others_.find(strides);
  if (found != others_.end()) return found->second;
  return others_.emplace(strides, prepared(contract_, problem)).first->second;
}

std::optional<DeviceFault> Compiled::fault() const {
  if (auto seen = executable_.fault()) return seen;
  for (const auto& [strides, executable] : others_) {
    if (auto seen = executable.fault()) return seen;
  }
  return std::nullopt;
}

void Compiled::clear_fault() const {
  executable_.clear_fault();
  for (const auto& [strides, executable] : others_) executable.clear_fault();
}

void Compiled::check(const Arguments& in, Call& call) const {
  check_grad(in);
  if (call.a_open) call.problem.a_major = contract_.problem.a_major;
  if (call.b_open) call.problem.b_major = contract_.problem.b_major;
  if (!keeps_contract(call.problem)) {
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
  const Executable& executable =
      contract_.strides_open ? executable_for(call.problem) : executable_;
  if (call.place.kind == DeviceKind::kCuda) {
    launch_on_cuda(executable, call, in);
  } else {
    launch(executable, call.operands);
  }
  if (in.wgrad) mark_written(std::span(&*in.wgrad, 1));
  if (!in.outputs.empty()) mark_written(in.outputs);
}

}  // namespace wgrad::python
