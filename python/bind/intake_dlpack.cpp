#include <Python.h>

#include <algorithm>
#include <string>

#include "intake.hpp"
#include "refuse.hpp"

namespace wgrad::python {
namespace nb = nanobind;
namespace {

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

void set_packed_strides(TensorView& view, int rank) {
  std::int64_t packed = 1;
  for (int i = rank - 1; i >= 0; --i) {
    view.strides[static_cast<std::size_t>(i)] = packed;
    packed *= view.shape[static_cast<std::size_t>(i)];
  }
}

void fill(TensorView& view, const dlpack::Tensor& t, std::uint64_t flags, const char* field) {
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
    set_packed_strides(view, rank);
  }
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

void read_by_exchange(TensorView& view, const char* field) {
  dlpack::Tensor tensor{};
  if (view.exchange->tensor_from_object(view.object.ptr(), &tensor) != 0) {
    const std::string why = nb::python_error().what();
    refuse({"tensor", field, "nothing DLPack describes (" + why.substr(0, why.find('\n')) + ")",
            "a strided tensor on a CPU or a CUDA device"});
  }
  fill(view, tensor, 0, field);
}

void read_by_dlpack(TensorView& view, const char* field) {
  view.keeps = capsule_of(view.object);
  PyObject* capsule = view.keeps.ptr();
  if (PyCapsule_IsValid(capsule, "dltensor_versioned") != 0) {
    const auto* managed = static_cast<const dlpack::ManagedVersioned*>(
        PyCapsule_GetPointer(capsule, "dltensor_versioned"));
    fill(view, managed->tensor, managed->flags, field);
  } else if (PyCapsule_IsValid(capsule, "dltensor") != 0) {
    const auto* managed =
        static_cast<const dlpack::Managed*>(PyCapsule_GetPointer(capsule, "dltensor"));
    fill(view, managed->tensor, 0, field);
  } else {
    refuse({"tensor", field, "without a DLPack capsule", "a tensor that speaks DLPack"});
  }
}

}  // namespace wgrad::python
