// The part of DLPack's binary interface that wgrad reads. Source: the DLPack specification, version
// 1.3 (dlpack.h); field order and sizes are fixed there.
#pragma once

#include <cstdint>

namespace wgrad::python::dlpack {

enum DeviceType : std::int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13 };

enum TypeCode : std::uint8_t {
  kInt = 0,
  kUint = 1,
  kFloat = 2,
  kBfloat = 4,
  kFloat8E4m3fn = 10,
  kFloat8E5m2 = 12,
  kFloat8E8m0fnu = 14,
  kFloat4E2m1fn = 17,
};

struct Device {
  std::int32_t type;
  std::int32_t id;
};

struct DataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  std::int32_t ndim;
  DataType dtype;
  const std::int64_t* shape;
  const std::int64_t* strides;  ///< in elements; null: row-major and packed
  std::uint64_t byte_offset;
};

struct Version {
  std::uint32_t major;
  std::uint32_t minor;
};

/// Payload of a capsule named "dltensor".
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kSubbytePadded = 4;

/// Payload of a capsule named "dltensor_versioned".
struct ManagedVersioned {
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};

/// What a tensor type's `__dlpack_c_exchange_api__` capsule points at.
struct ExchangeApi {
  Version version;
  ExchangeApi* previous;
  void* allocate;
  void* managed_from_object;
  void* managed_to_object;
  /// Fills a view that lives as long as `object` is unchanged; -1 with a Python error set.
  int (*tensor_from_object)(void* object, Tensor* out);
  int (*current_stream)(std::int32_t device_type, std::int32_t device_id, void** out);
};

}  // namespace wgrad::python::dlpack
