#include "harness/memory/device.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "wgrad/scale_layout.hpp"

namespace wgrad::harness {
namespace {

constexpr std::int64_t kAlignment = 16;

class HostDevice final : public Device {
 public:
  void* allocate(std::int64_t bytes) override {
    if (bytes == 0) return nullptr;
    auto* region = static_cast<std::uint8_t*>(
        mmap(nullptr, mapped(bytes) + 2 * page_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (region == MAP_FAILED) throw std::runtime_error("mmap failed");
    if (mprotect(region + page_, mapped(bytes), PROT_READ | PROT_WRITE) != 0) {
      throw std::runtime_error("mprotect failed");
    }
    return region + page_ + mapped(bytes) - round_up(bytes, kAlignment);
  }

  void release(void* pointer, std::int64_t bytes) noexcept override {
    munmap(first_page(pointer, bytes) - page_, mapped(bytes) + 2 * page_);
  }

  void upload(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void download(void* to, const void* from, std::int64_t bytes) override {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }

  void protect(void* pointer, std::int64_t bytes) override {
    if (mprotect(first_page(pointer, bytes), mapped(bytes), PROT_READ) != 0) {
      throw std::runtime_error("mprotect failed");
    }
  }

  void synchronize() override {}
  double milliseconds(const std::function<void()>& work) override {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }
  bool is_host() const override { return true; }

 private:
  std::size_t mapped(std::int64_t bytes) const {
    return static_cast<std::size_t>(round_up(bytes, page_));
  }
  std::uint8_t* first_page(void* pointer, std::int64_t bytes) const {
    return static_cast<std::uint8_t*>(pointer) + round_up(bytes, kAlignment) - mapped(bytes);
  }

  std::int64_t page_ = sysconf(_SC_PAGESIZE);
};

}  // namespace

std::shared_ptr<Device> host_device() {
  static const auto kDevice = std::make_shared<HostDevice>();
  return kDevice;
}

Buffer::Buffer(std::shared_ptr<Device> device, std::int64_t bytes)
    : device_(std::move(device)), data_(device_->allocate(bytes)), bytes_(bytes) {}

Buffer::Buffer(std::shared_ptr<Device> device, std::span<const std::uint8_t> content)
    : Buffer(std::move(device), static_cast<std::int64_t>(content.size())) {
  upload(content);
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::move(other.device_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) device_->release(data_, bytes_);
}

void Buffer::upload(std::span<const std::uint8_t> content) {
  if (!content.empty()) {
    device_->upload(data_, content.data(), static_cast<std::int64_t>(content.size()));
  }
}

std::vector<std::uint8_t> Buffer::download() const {
  std::vector<std::uint8_t> content(static_cast<std::size_t>(bytes_));
  if (bytes_ > 0) device_->download(content.data(), data_, bytes_);
  return content;
}

Mirror::Mirror(std::shared_ptr<Device> device, std::span<std::byte> host)
    : device_(std::move(device)), host_(host) {
  if (!device_->is_host()) copy_ = Buffer(device_, static_cast<std::int64_t>(host_.size()));
  push();
}

void* Mirror::address() const {
  return device_->is_host() ? host_.data() : copy_.data();
}

void Mirror::push() {
  if (device_->is_host() || host_.empty()) return;
  device_->upload(copy_.data(), host_.data(), copy_.bytes());
}

void Mirror::pull() {
  if (device_->is_host() || host_.empty()) return;
  device_->download(host_.data(), copy_.data(), copy_.bytes());
}

}  // namespace wgrad::harness
