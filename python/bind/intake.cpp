// The ways into a TensorView, tried in order of speed; the way is remembered per Python type.
#include <Python.h>
#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>

#include "intake.hpp"
#include "refuse.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

enum class Way : std::uint8_t { kExchange, kArrayStruct, kTorch, kDlpack, kBuffer, kNone };

struct TypeEntry {
  Way way = Way::kNone;
  bool torch = false;
  bool negatable = false;  // torch's lazy negation, which no pointer shows
  const dlpack::ExchangeApi* exchange = nullptr;
};

const dlpack::ExchangeApi* exchange_of(nb::handle type) {
  if (!nb::hasattr(type, "__dlpack_c_exchange_api__")) return nullptr;
  const nb::object capsule = type.attr("__dlpack_c_exchange_api__");
  auto* api = static_cast<const dlpack::ExchangeApi*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (api == nullptr) PyErr_Clear();
  while (api != nullptr && api->version.major != 1) api = api->previous;
  return api != nullptr && api->tensor_from_object != nullptr ? api : nullptr;
}

TypeEntry study(nb::handle type, nb::handle object) {
  TypeEntry entry;
  entry.torch = nb::hasattr(type, "requires_grad") && nb::hasattr(type, "data_ptr");
  entry.negatable = entry.torch && nb::hasattr(type, "is_neg");
  entry.exchange = exchange_of(type);
  if (entry.exchange != nullptr) {
    entry.way = Way::kExchange;
  } else if (nb::hasattr(type, "__array_struct__")) {
    entry.way = Way::kArrayStruct;
  } else if (entry.torch) {
    entry.way = Way::kTorch;
  } else if (nb::hasattr(type, "__dlpack__")) {
    entry.way = Way::kDlpack;
  } else if (PyObject_CheckBuffer(object.ptr()) != 0) {
    entry.way = Way::kBuffer;
  }
  return entry;
}

const TypeEntry& entry_of(nb::handle object) {
  // Guarded by the GIL; types are kept alive so that an address is never reused.
  static auto* const kTypes = new std::unordered_map<PyTypeObject*, TypeEntry>;
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (const auto hit = kTypes->find(type); hit != kTypes->end()) return hit->second;
  const TypeEntry entry = study(nb::handle(reinterpret_cast<PyObject*>(type)), object);
  Py_INCREF(type);
  return kTypes->emplace(type, entry).first->second;
}

bool is_negated(nb::handle object) {
  static PyObject* const kName = PyUnicode_InternFromString("is_neg");
  PyObject* const self = object.ptr();
  const nb::object flag = nb::steal(PyObject_VectorcallMethod(kName, &self, 1, nullptr));
  if (!flag.is_valid()) throw nb::python_error();
  return flag.ptr() == Py_True;
}

}  // namespace

TensorView read_tensor(nb::handle object, const char* field) {
  const TypeEntry& entry = entry_of(object);
  if (entry.negatable && is_negated(object)) {
    refuse({"negated-view", field, "a negated view of other values", "stored: resolve_neg() does"});
  }
  TensorView view;
  view.object = object;
  view.torch = entry.torch;
  view.exchange = entry.exchange;
  switch (entry.way) {
    case Way::kExchange:
      read_by_exchange(view, field);
      break;
    case Way::kArrayStruct:
      read_by_array_struct(view, field);
      break;
    case Way::kTorch:
      read_by_attributes(view);
      break;
    case Way::kDlpack:
      read_by_dlpack(view, field);
      break;
    case Way::kBuffer:
      read_by_buffer(view, field);
      break;
    case Way::kNone:
      refuse({"tensor", field,
              "a " + nb::cast<std::string>(nb::handle(Py_TYPE(object.ptr())).attr("__name__")),
              "a tensor: a numpy array, a torch tensor, or anything that speaks DLPack or the "
              "buffer protocol"});
  }
  return view;
}

}  // namespace wgrad::python
