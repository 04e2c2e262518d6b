// Zeros that cost memory only where they are written: a trace of an allocation may be as large as
// the allocation, most of which no kernel touches.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

namespace wgrad::emu {

/// `count` elements of all zero bytes.
template <typename Element>
class ZeroedMemory {
  static_assert(std::is_trivially_copyable_v<Element>);

 public:
  ZeroedMemory() = default;
  explicit ZeroedMemory(std::uint64_t count) : bytes_(count * sizeof(Element)) {
    if (count == 0) return;
    void* const memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<Element*>(memory);
  }
  ZeroedMemory(ZeroedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;
  ~ZeroedMemory() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  bool empty() const noexcept { return data_ == nullptr; }
  Element* data() const noexcept { return data_; }
  /// All zeros again.
  void clear() noexcept {
    if (data_ != nullptr) madvise(data_, bytes_, MADV_DONTNEED);
  }

 private:
  Element* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace wgrad::emu
