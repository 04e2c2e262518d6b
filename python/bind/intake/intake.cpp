// The ways to read a tensor, tried in order of speed; the way is remembered per Python type.
#include <Python.h>
#include <nanobind/stl/string.h>

#include <string>
#include <unordered_map>

#include "call/refusals.hpp"
#include "intake/buffer_abi.hpp"
#include "intake/intake.hpp"

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
  return nb::object(object.attr(nb::handle(kName))()).is(nb::handle(Py_True));
}

/// The framework's name of a dtype that wgrad does not know, for messages.
std::string own_dtype_name(nb::handle object) {
  const auto text = [&](const char* attribute) {
    return nb::cast<std::string>(nb::str(nb::object(object.attr(attribute))));
  };
  if (nb::hasattr(object, "dtype")) return text("dtype");
  if (nb::hasattr(object, "format")) return "of buffer format '" + text("format") + "'";
  return "";
}

std::string name_of_type(nb::handle object) {
  return nb::cast<std::string>(nb::handle(Py_TYPE(object.ptr())).attr("__name__"));
}

/// A view into a freed storage has its offset for an address, which is none of memory.
bool is_without_memory(const Intake& in) {
  constexpr std::uintptr_t kUnlikely = std::uintptr_t{1} << 36U;
  if (in.view.data == nullptr) return true;
  if (!in.origin.torch || reinterpret_cast<std::uintptr_t>(in.view.data) >= kUnlikely) return false;
  try {
    const nb::object storage = in.origin.object.attr("untyped_storage")();
    return nb::cast<std::uintptr_t>(storage.attr("data_ptr")()) == 0;
  } catch (const nb::python_error& error) {  // torch says so in an exception of its own
    return error.matches(PyExc_RuntimeError) || error.matches(PyExc_NotImplementedError);
  }
}

}  // namespace

Intake read_tensor(nb::handle object, const char* field) {
  const TypeEntry& entry = entry_of(object);
  if (entry.negatable && is_negated(object)) {
    call::refuse(
        {"negated-view", field, "a negated view of other values", "stored: resolve_neg() does"});
  }
  Intake in;
  in.origin = {object, entry.torch, entry.exchange};
  switch (entry.way) {
    case Way::kExchange:
      read_by_exchange(in, field);
      break;
    case Way::kArrayStruct:
      read_by_array_struct(in, field);
      break;
    case Way::kTorch:
      read_by_attributes(in);
      break;
    case Way::kDlpack:
      read_by_dlpack(in, field);
      break;
    case Way::kBuffer:
      read_by_buffer(in, field);
      break;
    case Way::kNone:
      call::refuse(
          {"tensor", field, "a " + name_of_type(object),
           "a tensor: a numpy array, a torch tensor, or anything that speaks DLPack or the "
           "buffer protocol"});
  }
  if (in.view.element == call::Element::kOther) in.view.dtype = own_dtype_name(object);
  return in;
}

void need_memory(const Intake& in, const char* field) {
  if (in.view.size() == 0 || !is_without_memory(in)) return;
  call::refuse(
      {"null-pointer", field,
       "null (a " + name_of_type(in.origin.object) + " without memory: fake, functional or freed)",
       "an address"});
}

}  // namespace wgrad::python
