#include "request.hpp"

#include <utility>

#include "stream.hpp"
#include "torch_calls.hpp"
#include "unlocked.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::in_words_of;
namespace {

call::OutputForm form_of(bool pointers) {
  return pointers ? call::OutputForm::kPointers : call::OutputForm::kStacked;
}

/// Whether a call takes a workspace as it takes its result: from torch's allocator, on a stream
/// that torch can name. An operator of the drop-in names takes nothing (contract, section 5).
bool takes_workspace(call::Api api, const call::Place& place, const Origin& a, const void* stream) {
  constexpr std::uintptr_t kPerThreadStream = 2;
  return api == call::Api::kNatural && place.kind == DeviceKind::kCuda && a.torch &&
         reinterpret_cast<std::uintptr_t>(stream) != kPerThreadStream;
}

}  // namespace

Request::Request(call::Api api, call::Options options, const nb::dict& given,
                 std::optional<bool> pointers, bool holds_data, const Problem* compiled)
    : api_(api),
      options_(std::move(options)),
      objects_(objects_of(api, given)),
      form_(form_of(pointers.value_or(!objects_.wgrad_ptrs.is_none()))) {
  in_words_of(api_, [&] {
    call::Reasons reasons;
    const call::Tensors& tensors = arguments_.tensors;
    read_arguments(arguments_, api_, objects_, reasons);
    if (holds_data) call::add_judged(reasons, arguments_.without_memory);
    if (compiled != nullptr) call::collect(reasons, [&] { call::need_output(form_, tensors); });
    bool whole = false;
    call::collect(reasons, [&] {
      call_ = call::read_call(tensors, options_, {api_, form_, compiled, holds_data});
      whole = true;
    });
    void* stream = nullptr;
    if (!objects_.stream.is_none()) {
      call::collect(
          reasons, [&] { stream = stream_handle(objects_.stream, tensors.a.place, arguments_.a); });
    }
    if (whole && !reasons.empty()) call::add_all_reasons(reasons, call_);
    call::refuse_if_any(std::move(reasons));
    call_.operands.stream = stream;
    call_.problem.workspace = compiled != nullptr
                                  ? compiled->workspace
                                  : takes_workspace(api_, call_.place, arguments_.a, stream);
  });
}

void Request::require_support() const {
  in_words_of(api_, [&] {
    call::with_all_reasons(call_, [&] {
      const call::Contract contract = call::contract_of(call_);
      throw_if_unsupported(check_support(contract.problem, call::device_of(contract),
                                         contract.preparation.backend,
                                         {call_.operands.a_ld, call_.operands.b_ld}));
    });
  });
}

Described Request::described() const {
  const Operands& o = call_.operands;
  call::Contract contract = call::contract_of(call_);
  contract.strides_open = form_ == call::OutputForm::kStacked && !arguments_.tensors.wgrad;
  return {std::move(contract), options_, form_, {o.a_ld, o.b_ld}};
}

void Request::give_output(nb::handle wgrad) {
  in_words_of(api_, [&] {
    objects_.wgrad = nb::borrow(wgrad);
    read_output(arguments_, wgrad);
    call::read_given_output(call_, arguments_.tensors, options_, {api_, form_});
  });
}

void Request::run(const call::Operator& op) {
  in_words_of(api_, [&] {
    check_arguments();
    call::with_all_reasons(call_, [&] { op.check(call_); });
    launch(op);
  });
}

void Request::run(call::OperatorCache& operators) {
  in_words_of(api_, [&] {
    check_arguments();
    launch(*operators.get(call_));  // the pointer keeps it: the GIL is released meanwhile
  });
}

void Request::check_arguments() const {
  call::Reasons reasons;
  call::collect(reasons, [&] { call::need_output(form_, arguments_.tensors); });
  call::collect(reasons, [&] { refuse_detached(arguments_); });
  if (reasons.empty()) return;
  call::add_all_reasons(reasons, call_);
  call::refuse_if_any(std::move(reasons));
}

/// The launch stream's: the caching allocator may hand it out again once the launch is behind it.
nb::object Request::give_workspace(std::int64_t bytes) {
  if (!arguments_.a.torch) return {};
  nb::object tensor = new_workspace(bytes, call_, !objects_.stream.is_none());
  call_.operands.workspace = read_tensor(tensor, "workspace").view.data;
  call_.operands.workspace_bytes = bytes;
  return tensor;
}

void Request::launch(const call::Operator& op) {
  if (objects_.stream.is_none()) {
    call_.operands.stream = stream_handle(objects_.stream, call_.place, arguments_.a);
  }
  nb::object workspace;
  if (call_.problem.workspace && op.needed_workspace_bytes() > call_.operands.workspace_bytes)
    workspace = give_workspace(op.needed_workspace_bytes());
  nb::object table;
  if (call_.place.kind == DeviceKind::kCuda && !arguments_.outputs.empty()) {
    table = device_table(call_);
    const call::TensorView view = read_tensor(table, "wgrad_ptrs").view;
    call_.operands.wgrad_ptrs = static_cast<const std::int64_t*>(view.data);
  } else if (call_.place.kind == DeviceKind::kCuda && arguments_.wgrad_ptrs.torch) {
    table = nb::borrow(arguments_.wgrad_ptrs.object);
  }
  {
    const Unlocked unlocked;
    op.run(call_);
  }
  if (table.is_valid()) record_table(table, call_);
  mark_written(arguments_);
}

}  // namespace wgrad::python
