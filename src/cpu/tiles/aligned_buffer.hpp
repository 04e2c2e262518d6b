// Scratch memory of one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <new>

namespace wgrad::cpu {

/// Grows to the largest size asked for; contents are not kept while growing.
class AlignedBuffer {
 public:
  std::uint8_t* at_least(std::int64_t bytes) {
    if (bytes > bytes_) {
      data_.reset();
      bytes_ = 0;
      data_.reset(new (kAlignment) std::uint8_t[static_cast<std::size_t>(bytes)]);
      bytes_ = bytes;
    }
    return data_.get();
  }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};
  struct Release {
    void operator()(std::uint8_t* p) const noexcept { ::operator delete[](p, kAlignment); }
  };
  std::unique_ptr<std::uint8_t[], Release> data_;
  std::int64_t bytes_ = 0;
};

}  // namespace wgrad::cpu
