#include <Python.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "call/refusals.hpp"
#include "intake/intake.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Element;
using call::kMaxRank;
using call::Place;
using call::refuse;
namespace {

Element element_of(const dlpack::DataType& dtype, bool padded) {
  const int bits = dtype.bits;
  if (dtype.code == dlpack::kFloat4E2m1fn) {
    if (padded) return Element::kE2m1Unpacked;
    return bits == 4 && dtype.lanes == 2 ? Element::kE2m1Packed : Element::kOther;
  }
  if (dtype.lanes != 1) return Element::kOther;
  switch (dtype.code) {
    case dlpack::kBfloat:
      return bits == 16 ? Element::kBf16 : Element::kOther;
    case dlpack::kFloat:
      return bits == 16 ? Element::kF16 : bits == 32 ? Element::kF32 : Element::kOther;
    case dlpack::kFloat8E4m3fn:
      return Element::kE4m3;
    case dlpack::kFloat8E5m2:
      return Element::kE5m2;
    case dlpack::kFloat8E8m0fnu:
      return Element::kE8m0;
    case dlpack::kUint:
      return bits == 8 ? Element::kU8 : Element::kOther;
    case dlpack::kInt:
      return bits == 32 ? Element::kI32 : bits == 64 ? Element::kI64 : Element::kOther;
    default:
      return Element::kOther;
  }
}

Place place_of(const dlpack::Device& device, const char* field) {
  switch (device.type) {
    case dlpack::kCpu:
    case dlpack::kCudaHost:
      return {};
    case dlpack::kCuda:
    case dlpack::kCudaManaged:
      return {DeviceKind::kCuda, device.id};
    default:
      refuse({"device", field, "on DLPack device type " + std::to_string(device.type),
              "on a CPU or a CUDA device"});
  }
}

void fill(call::TensorView& view, const dlpack::Tensor& t, std::uint64_t flags, const char* field) {
  view.place = place_of(t.device, field);
  view.element = element_of(t.dtype, (flags & dlpack::kSubbytePadded) != 0);
  view.writable = (flags & dlpack::kReadOnly) == 0;
  view.data = t.data != nullptr ? static_cast<char*>(t.data) + t.byte_offset : nullptr;
  view.rank = t.ndim;
  const int rank = std::min<int>(t.ndim, kMaxRank);
  std::copy_n(t.shape, rank, view.shape.begin());
  if (t.strides != nullptr) {
    std::copy_n(t.strides, rank, view.strides.begin());
  } else {
    call::set_packed_strides(view);
  }
}

/// A capsule without version cannot say that its memory is read-only, as JAX's is. These producers'
/// is not.
bool is_mutable(nb::handle object) {
  const nb::str module(nb::handle(Py_TYPE(object.ptr())).attr("__module__"));
  const std::string_view name = module.c_str();
  const std::string_view package = name.substr(0, name.find('.'));
  return package == "cupy" || package == "torch" || package == "paddle";
}

nb::object capsule_of(nb::handle object) {
  const nb::object method = object.attr("__dlpack__");
  try {
    return method(nb::arg("max_version") = nb::make_tuple(1, 1));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    return method();  // a producer from before DLPack 1.0
  }
}

}  // namespace

void read_by_exchange(Intake& in, const char* field) {
  dlpack::Tensor tensor{};
  if (in.origin.exchange->tensor_from_object(in.origin.object.ptr(), &tensor) != 0) {
    const std::string why = nb::python_error().what();
    refuse({"tensor", field, "nothing DLPack describes (" + why.substr(0, why.find('\n')) + ")",
            "a strided tensor on a CPU or a CUDA device"});
  }
  fill(in.view, tensor, 0, field);
}

void read_by_dlpack(Intake& in, const char* field) {
  in.keeps = capsule_of(in.origin.object);
  PyObject* capsule = in.keeps.ptr();
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    fill(in.view, managed->tensor, managed->flags, field);
  } else if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    const auto* managed =
        static_cast<const dlpack::Managed*>(PyCapsule_GetPointer(capsule, "dltensor"));
    fill(in.view, managed->tensor, 0, field);
    in.view.writable = is_mutable(in.origin.object);
  } else {
    refuse({"tensor", field, "without a DLPack capsule", "a tensor that speaks DLPack"});
  }
}

}  // namespace wgrad::python
