#include "support/driver/fake_driver.hpp"

#include <algorithm>
#include <cstring>

namespace wgrad::launch {
namespace {

FakeDriver* fake = nullptr;
thread_local std::vector<CuContext> contexts;  // as in CUDA, a stack a thread

/// Handles of contexts and streams say which device they belong to.
template <typename Handle>
Handle handle_of(int device, std::uintptr_t kind) {
  return reinterpret_cast<Handle>(kind + static_cast<std::uintptr_t>(device));
}
constexpr std::uintptr_t kContext = 0x1000, kStream = 0x2000, kOtherContext = 0x5000;

int device_in(void* handle) {
  return static_cast<int>(reinterpret_cast<std::uintptr_t>(handle) & 0xfff);
}

}  // namespace

struct FakeFunctions {
  template <typename Action>
  static CuResult call(const char* name, Action action) {
    const CuResult result = fake->record(name);
    if (result == kCuSuccess) action();
    return result;
  }

  static CuResult init(unsigned) {
    return call("init", [] {});
  }
  static CuResult error_name(CuResult, const char** text) { return *text = "CUDA_ERROR_FAKE", 0; }
  static CuResult error_string(CuResult, const char** text) { return *text = "as planned", 0; }
  static CuResult driver_version(int* version) { return *version = fake->version, 0; }
  static CuResult device_count(int* count) {
    return call("device_count", [&] { *count = static_cast<int>(fake->archs.size()); });
  }
  static CuResult device_name(char* name, int size, CuDevice device) {
    return call("device_name", [&] {
      std::strncpy(name, ("fake " + std::to_string(device)).c_str(),
                   static_cast<std::size_t>(size));
    });
  }
  static CuResult device_attribute(int* value, int attribute, CuDevice device) {
    const int arch = fake->archs[static_cast<std::size_t>(device)];
    const std::map<int, int> values = {{kCuComputeCapabilityMajor, arch / 10},
                                       {kCuComputeCapabilityMinor, arch % 10},
                                       {kCuMultiprocessorCount, 132},
                                       {kCuL2CacheSize, 62914560},
                                       {kCuMaxSharedMemoryPerBlockOptin, 232448}};
    return call("device_attribute", [&] { *value = values.at(attribute); });
  }
  static CuResult primary_context_retain(CuContext* context, CuDevice device) {
    return call("primary_context_retain",
                [&] { *context = handle_of<CuContext>(device, kContext); });
  }
  static CuResult context_get_current(CuContext* context) {
    return call("context_get_current",
                [&] { *context = contexts.empty() ? nullptr : contexts.back(); });
  }
  static CuResult context_push(CuContext context) {
    return call("context_push", [&] { contexts.push_back(context); });
  }
  static CuResult context_pop(CuContext* context) {
    return call("context_pop", [&] {
      *context = contexts.back();
      contexts.pop_back();
    });
  }
  static CuResult context_get_device(CuDevice* device) {
    return call("context_get_device", [&] { *device = device_in(contexts.back()); });
  }
  static CuResult stream_get_context(CuStream stream, CuContext* context) {
    return call("stream_get_context",
                [&] { *context = handle_of<CuContext>(device_in(stream), kContext); });
  }
  static CuResult stream_is_capturing(CuStream, int* status) {
    return call("stream_is_capturing", [&] { *status = fake->capture_status; });
  }
  static CuResult stream_get_id(CuStream stream, unsigned long long* id) {
    return call("stream_get_id", [&] { *id = reinterpret_cast<std::uintptr_t>(stream) + 100; });
  }
  static CuResult stream_synchronize(CuStream) {
    return call("stream_synchronize", [] {});
  }
  static CuResult exchange_capture_mode(int* mode) {
    static thread_local int current = 0;
    return call("exchange_capture_mode", [&] { std::swap(*mode, current); });
  }
  static CuResult copy_to_host_async(void* to, CuAddress from, std::size_t bytes, CuStream) {
    return call("copy_to_host_async", [&] {
      if (bytes > 0) std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
    });
  }
  static CuResult host_alloc(void** pointer, std::size_t bytes, unsigned flags) {
    if (flags != (kCuHostPortable | kCuHostDeviceMap) || contexts.empty()) return 1;
    return call("host_alloc", [&] { *pointer = fake->memory(-1, bytes); });
  }
  static CuResult host_device_pointer(CuAddress* address, void* host, unsigned) {
    return call("host_device_pointer", [&] { *address = reinterpret_cast<CuAddress>(host); });
  }
  static CuResult pointer_attribute(void* value, int attribute, CuAddress address) {
    if (attribute != kCuPointerDeviceOrdinal) return 1;
    for (const auto& block : fake->blocks_) {
      const auto first = reinterpret_cast<CuAddress>(block.bytes.get());
      if (block.device < 0 || address < first || address >= first + block.size) continue;
      return call("pointer_attribute", [&] { *static_cast<int*>(value) = block.device; });
    }
    return 1;  // CUDA_ERROR_INVALID_VALUE
  }
  static CuResult library_load_data(CuLibrary* library, const void*, int*, void**, unsigned, int*,
                                    void**, unsigned) {
    return call("library_load_data", [&] { *library = handle_of<CuLibrary>(1, 0x3000); });
  }
  static CuResult library_get_kernel(CuKernel* kernel, CuLibrary, const char*) {
    return call("library_get_kernel", [&] { *kernel = handle_of<CuKernel>(2, 0x3000); });
  }
  static CuResult library_get_global(CuAddress* address, std::size_t* bytes, CuLibrary,
                                     const char* name) {
    if (std::string_view(name) != "wgrad_claims") return 1;
    return call("library_get_global", [&] {
      *address = FakeDriver::claims(device_in(contexts.back()));
      *bytes = sizeof(shared::ClaimCounters) * shared::kClaimSlots;
    });
  }
  static CuResult kernel_set_attribute(int attribute, int value, CuKernel, CuDevice device) {
    if (attribute != kCuMaxDynamicSharedSizeBytes) return 1;
    return call("kernel_set_attribute", [&] { fake->smem_limits.emplace_back(device, value); });
  }
  static CuResult kernel_get_function(CuFunction* function, CuKernel) {
    return call("kernel_get_function", [&] { *function = handle_of<CuFunction>(3, 0x3000); });
  }
  static CuResult tensor_map_encode(shared::TensorMap* map, int type, std::uint32_t rank,
                                    void* address, const std::uint64_t* dims,
                                    const std::uint64_t* strides, const std::uint32_t* box,
                                    const std::uint32_t* element_strides, int interleave,
                                    int swizzle, int promotion, int fill);
  static CuResult launch_kernel(const CuLaunchConfig* config, CuFunction function,
                                void** parameters, void** extra);
};

namespace {

/// What the driver's manual demands of a tiled tensor map.
bool is_encodable(std::uint64_t address, std::uint32_t rank, const std::uint64_t* dims,
                  const std::uint64_t* strides, const std::uint32_t* box, std::uint32_t element,
                  bool swizzled) {
  bool ok = address != 0 && address % 16 == 0 && rank >= 1 && rank <= 5;
  for (std::uint32_t i = 0; ok && i < rank; ++i) {
    ok = dims[i] >= 1 && dims[i] <= std::uint64_t{1} << 32 && box[i] >= 1 && box[i] <= 256;
    if (i + 1 < rank) ok = ok && strides[i] % 16 == 0 && strides[i] < std::uint64_t{1} << 40;
  }
  return ok && box[0] * element % 16 == 0 && (!swizzled || box[0] * element <= 128);
}

}  // namespace

CuResult FakeFunctions::tensor_map_encode(shared::TensorMap* map, int type, std::uint32_t rank,
                                          void* address, const std::uint64_t* dims,
                                          const std::uint64_t* strides, const std::uint32_t* box,
                                          const std::uint32_t* element_strides, int interleave,
                                          int swizzle, int promotion, int fill) {
  const auto base = reinterpret_cast<std::uint64_t>(address);
  const bool modes = interleave == kCuInterleaveNone &&
                     (swizzle == kCuSwizzle128B || type == kCuUint8) &&
                     promotion == kCuL2Promotion256B && fill == kCuFillNone;
  const bool dense = std::all_of(element_strides, element_strides + rank,
                                 [](std::uint32_t stride) { return stride == 1; });
  const std::uint32_t element = type == kCuFloat32 ? 4 : type == kCuUint8 ? 1 : 2;
  if (!modes || !dense ||
      !is_encodable(base, rank, dims, strides, box, element, swizzle == kCuSwizzle128B))
    return 1;
  return call("tensor_map_encode", [&] {
    const std::lock_guard lock(fake->mutex_);
    fake->maps.push_back({type,
                          base,
                          {dims, dims + rank},
                          {strides, strides + rank - 1},
                          {box, box + rank},
                          swizzle});
    map->opaque[0] = base;  // so that a test sees which map a launch carries
    map->opaque[1] = rank;
    if (fake->encode) *map = fake->encode(fake->maps.back());
  });
}

CuResult FakeFunctions::launch_kernel(const CuLaunchConfig* config, CuFunction function,
                                      void** parameters, void** extra) {
  if (extra != nullptr || contexts.empty()) return 1;
  return call("launch_kernel", [&] {
    RecordedLaunch launch;
    launch.config = *config;
    for (unsigned i = 0; i < config->attribute_count; ++i) {
      if (config->attributes[i].id == kCuClusterDimension) {
        launch.cluster = config->attributes[i].value.cluster[0];
      }
      if (config->attributes[i].id == kCuProgrammaticStreamSerialization) {
        launch.programmatic = config->attributes[i].value.allowed == 1;
      }
    }
    launch.function = function;
    std::memcpy(&launch.params, parameters[0], sizeof(launch.params));
    launch.parameters = parameters[0];
    launch.device = device_in(contexts.back());
    const std::lock_guard lock(fake->mutex_);
    fake->launches.push_back(launch);
    if (fake->run) fake->run(launch);
  });
}

FakeDriver::FakeDriver() {
  fake = this;
  contexts.clear();
  using F = FakeFunctions;
  api_ = {F::init,
          F::error_name,
          F::error_string,
          F::driver_version,
          F::device_count,
          F::device_name,
          F::device_attribute,
          F::primary_context_retain,
          F::context_get_current,
          F::context_push,
          F::context_pop,
          F::context_get_device,
          F::stream_get_context,
          F::stream_is_capturing,
          F::stream_get_id,
          F::stream_synchronize,
          F::exchange_capture_mode,
          F::copy_to_host_async,
          F::host_alloc,
          F::host_device_pointer,
          F::pointer_attribute,
          F::library_load_data,
          F::library_get_kernel,
          F::library_get_global,
          F::kernel_set_attribute,
          F::kernel_get_function,
          F::tensor_map_encode,
          F::launch_kernel};
}

FakeDriver::~FakeDriver() {
  fake = nullptr;
}

CuResult FakeDriver::record(const char* call) {
  const std::lock_guard lock(mutex_);
  calls_.emplace_back(call);
  const auto failure = failures.find(call);
  return failure != failures.end() ? failure->second : kCuSuccess;
}

std::vector<std::string> FakeDriver::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

int FakeDriver::count(const std::string& call) const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(std::count(calls_.begin(), calls_.end(), call));
}

void FakeDriver::forget_calls() {
  const std::lock_guard lock(mutex_);
  calls_.clear();
}

void FakeDriver::make_current(int device) {
  contexts = {handle_of<CuContext>(device, kContext)};
}

void FakeDriver::make_another_context_current(int device) {
  contexts = {handle_of<CuContext>(device, kOtherContext)};
}

int FakeDriver::current_device() const {
  return contexts.empty() ? -1 : device_in(contexts.back());
}

std::size_t FakeDriver::context_depth() const {
  return contexts.size();
}

CuStream FakeDriver::stream(int device) {
  return handle_of<CuStream>(device, kStream);
}

void* FakeDriver::memory(int device, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t units = bytes / sizeof(std::max_align_t) + 1;
  blocks_.push_back({std::make_unique<std::max_align_t[]>(units), bytes, device});
  return blocks_.back().bytes.get();
}

}  // namespace wgrad::launch
