// Memory of the device a backend runs on, so that one test body serves hosts and GPUs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace wgrad::harness {

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  virtual ~Device() = default;

  /// At least 16-byte aligned; null for 0 bytes.
  virtual void* allocate(std::int64_t bytes) = 0;
  virtual void release(void* pointer, std::int64_t bytes) noexcept = 0;
  virtual void upload(void* to, const void* from, std::int64_t bytes) = 0;
  virtual void download(void* to, const void* from, std::int64_t bytes) = 0;
  /// Makes writes to an allocation fault, where the device can.
  virtual void protect(void* pointer, std::int64_t bytes) = 0;
  /// Waits until earlier runs have finished.
  virtual void synchronize() = 0;
  /// Milliseconds that `work` takes, which may queue on the default stream; returns when it is
  /// done. The wall's on a host, the GPU's on a GPU.
  virtual double milliseconds(const std::function<void()>& work) = 0;
  /// Whether a backend may read host memory as it is.
  virtual bool is_host() const { return false; }
};

/// Host memory. Each allocation ends (to within its alignment) at an unmapped page and has another
/// one before it: reading or writing past either end of the mapping faults.
std::shared_ptr<Device> host_device();

/// An allocation and its content.
class Buffer {
 public:
  Buffer() = default;
  Buffer(std::shared_ptr<Device> device, std::int64_t bytes);
  Buffer(std::shared_ptr<Device> device, std::span<const std::uint8_t> content);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  void upload(std::span<const std::uint8_t> content);
  std::vector<std::uint8_t> download() const;
  void protect() { device_->protect(data_, bytes_); }

 private:
  std::shared_ptr<Device> device_;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// What a backend reads and writes in place of an array in host memory: the array itself on a host,
/// a copy on a device.
class Mirror {
 public:
  Mirror() = default;
  Mirror(std::shared_ptr<Device> device, std::span<std::byte> host);

  void* address() const;
  /// Makes the mirror equal to the array.
  void push();
  /// Makes the array equal to the mirror; earlier runs have finished by then.
  void pull();

 private:
  std::shared_ptr<Device> device_;
  std::span<std::byte> host_;
  Buffer copy_;
};

}  // namespace wgrad::harness
