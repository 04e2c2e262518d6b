#include "arguments.hpp"

#include <Python.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace wgrad::python {
namespace nb = nanobind;
namespace {

call::TensorView read(Arguments& in, nb::handle object, const char* field,
                      Origin* origin = nullptr) {
  Intake tensor = read_tensor(object, field);
  const std::size_t before = in.without_memory.size();
  call::collect(in.without_memory, [&] { need_memory(tensor, field); });
  if (in.without_memory.size() != before) tensor.view.data = nullptr;
  if (tensor.keeps.is_valid()) in.keeps.push_back(std::move(tensor.keeps));
  if (origin != nullptr) *origin = tensor.origin;
  return std::move(tensor.view);
}

void read(Arguments& in, std::optional<call::TensorView>& to, nb::handle object, const char* field,
          Origin* origin = nullptr) {
  if (!object.is_none()) to = read(in, object, field, origin);
}

/// Interned, so that looking an argument up compares addresses.
struct Names {
  explicit Names(call::Api api) {
    constexpr const char* kFields[] = {"a",
                                       "b",
                                       "sfa",
                                       "sfb",
                                       "offsets",
                                       "wgrad",
                                       "wgrad_ptrs",
                                       "global_scale_a",
                                       "global_scale_b",
                                       "workspace",
                                       "stream"};
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i] = PyUnicode_InternFromString(std::string(call::argument(api, kFields[i])).c_str());
    }
  }
  std::array<PyObject*, 11> all{};
};

const Names& names_of(call::Api api) {
  static const Names kSample(call::Api::kSample);
  static const Names kCall(call::Api::kCall);
  static const Names kNatural(call::Api::kNatural);
  return api == call::Api::kSample ? kSample : api == call::Api::kCall ? kCall : kNatural;
}

nb::object lookup(const nb::dict& given, PyObject* name) {
  PyObject* value = PyDict_GetItemWithError(given.ptr(), name);
  if (value != nullptr) return nb::borrow(value);
  if (PyErr_Occurred() != nullptr) throw nb::python_error();
  return nb::none();
}

bool is_list(nb::handle object) {
  return nb::isinstance<nb::list>(object) || nb::isinstance<nb::tuple>(object);
}

void read_outputs(Arguments& in, nb::handle wgrad_ptrs) {
  if (!is_list(wgrad_ptrs)) {
    return read(in, in.tensors.wgrad_ptrs, wgrad_ptrs, "wgrad_ptrs", &in.wgrad_ptrs);
  }
  if (nb::len(wgrad_ptrs) == 0) {
    call::refuse(
        {"shape", "wgrad_ptrs", "an empty list", "a list of (M, N) tensors, one per expert"});
  }
  std::size_t e = 0;
  for (const nb::handle output : wgrad_ptrs) {
    const std::string field = "wgrad_ptrs[" + std::to_string(e++) + "]";
    in.tensors.outputs.push_back(read(in, output, field.c_str(), &in.outputs.emplace_back()));
  }
}

}  // namespace

void read_output(Arguments& in, nb::handle wgrad) {
  read(in, in.tensors.wgrad, wgrad, "wgrad", &in.wgrad);
}

Objects objects_of(call::Api api, const nb::dict& given) {
  const auto& names = names_of(api).all;
  std::size_t i = 0;
  const auto next = [&] { return lookup(given, names.at(i++)); };
  Objects o{next(), next(), next(), next(), next(), next(), next(), next(), next(), next(), next()};
  if (api != call::Api::kNatural) return o;
  (is_list(o.wgrad) ? o.wgrad : o.wgrad_ptrs) = nb::none();  // both are called out
  return o;
}

void read_arguments(Arguments& in, call::Api api, const Objects& from, call::Reasons& reasons) {
  call::Tensors& t = in.tensors;
  const auto reading = [&](auto&& read_one) { call::collect(reasons, read_one); };
  reading([&] { t.a = read(in, from.a, "a", &in.a); });
  reading([&] { t.b = read(in, from.b, "b", &in.b); });
  reading([&] { t.offsets = read(in, from.offsets, "offsets"); });
  reading([&] { read(in, t.sfa, from.sfa, "sfa"); });
  reading([&] { read(in, t.sfb, from.sfb, "sfb"); });
  reading([&] { read(in, t.global_scale_a, from.global_scale_a, "global_scale_a"); });
  reading([&] { read(in, t.global_scale_b, from.global_scale_b, "global_scale_b"); });
  reading([&] { read(in, t.wgrad, from.wgrad, "wgrad", &in.wgrad); });
  reading([&] { read(in, t.workspace, from.workspace, "workspace"); });
  reading([&] { read_outputs(in, from.wgrad_ptrs); });
  const bool unread = std::any_of(reasons.begin(), reasons.end(),
                                  [](const Reason& r) { return call::subject(r) == "a"; });
  if (unread) t.a.place = t.b.place;  // others are compared with it
  if (api == call::Api::kNatural && t.a.rank == 2) t.a = t.a.transposed();  // x is (T, M)
}

}  // namespace wgrad::python
