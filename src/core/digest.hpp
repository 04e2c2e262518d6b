// SHA-256 (FIPS 180-4): names cache entries and checks their bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace wgrad::core {

class Sha256 {
 public:
  /// Appends bytes to the message.
  Sha256& update(std::string_view bytes);
  /// Appends the length of `field` and then `field`, so that neighbouring fields cannot merge.
  Sha256& field(std::string_view field);
  /// The digest in 64 lower-case hexadecimal digits. Ends the message.
  std::string hex();

 private:
  void block(const unsigned char* bytes);

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, 64> pending_ = {};
  std::size_t pending_size_ = 0;
  std::uint64_t length_ = 0;
};

/// The SHA-256 of `bytes` in hexadecimal.
std::string sha256_hex(std::string_view bytes);

}  // namespace wgrad::core
