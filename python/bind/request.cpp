#include "request.hpp"

#include <utility>

#include "stream.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

std::array<nb::object, 11> keep(const Tensors& t) {
  return {nb::borrow(t.a),
          nb::borrow(t.b),
          nb::borrow(t.sfa),
          nb::borrow(t.sfb),
          nb::borrow(t.offsets),
          nb::borrow(t.wgrad),
          nb::borrow(t.wgrad_ptrs),
          nb::borrow(t.global_scale_a),
          nb::borrow(t.global_scale_b),
          nb::borrow(t.workspace),
          {}};
}

}  // namespace

Request::Request(Api api, const Tensors& tensors, Options options, OutputForm form,
                 nb::handle stream)
    : api_(api), form_(form), options_(std::move(options)), kept_(keep(tensors)) {
  in_words_of(api_, [&] {
    arguments_ = read_arguments(api_, tensors);
    call_ = read_call(arguments_, options_, form_, api_);
    if (stream.is_valid()) call_.operands.stream = stream_handle(stream, arguments_.a);
  });
}

void Request::give_output(nb::handle wgrad) {
  in_words_of(api_, [&] {
    arguments_.wgrad = read_tensor(wgrad, "wgrad");
    kept_.back() = nb::borrow(wgrad);
    read_given_output(call_, arguments_, options_, form_, api_);
  });
}

}  // namespace wgrad::python
