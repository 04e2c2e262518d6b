// Memory of the device a backend runs on, so that one test body serves hosts and GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace wgrad::test {

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

}  // namespace wgrad::test
