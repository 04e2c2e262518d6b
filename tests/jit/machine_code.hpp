// Instructions of a compiled kernel.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace wgrad::jit {

/// The low halves of the 16-byte instructions of `entry` in a cubin, an ELF file; their low 12 bits
/// are the operation (cuobjdump -sass shows them).
inline std::vector<std::uint64_t> instructions(const std::string& cubin, std::string_view entry) {
  const auto read = [&](auto& value, std::size_t at) {
    std::memcpy(&value, cubin.data() + at, sizeof value);
  };
  Elf64_Ehdr header{};
  read(header, 0);
  const auto section = [&](std::size_t i) {
    Elf64_Shdr out{};
    read(out, header.e_shoff + i * sizeof out);
    return out;
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  std::vector<std::uint64_t> out;
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr s = section(i);
    if (cubin.data() + names.sh_offset + s.sh_name != ".text." + std::string(entry)) continue;
    for (std::size_t at = 0; at + 16 <= s.sh_size; at += 16) {
      std::uint64_t low = 0;
      read(low, s.sh_offset + at);
      out.push_back(low);
    }
  }
  return out;
}

inline std::ptrdiff_t count_of(const std::vector<std::uint64_t>& code, std::uint64_t operation) {
  return std::count_if(code.begin(), code.end(),
                       [&](std::uint64_t low) { return (low & 0xfff) == operation; });
}

}  // namespace wgrad::jit
