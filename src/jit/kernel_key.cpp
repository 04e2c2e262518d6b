#include "jit/kernel_key.hpp"

#include <fmt/format.h>

#include "core/digest.hpp"

namespace wgrad::jit {

KernelKeys::KernelKeys(Headers headers) {
  core::Sha256 digest;
  for (const DeviceHeader& header : headers) {
    digest.field(header.name).field(header.text);
    list_ += fmt::format("header {} {}\n", header.name, core::sha256_hex(header.text));
  }
  digest_ = digest.hex();
}

KernelKey KernelKeys::of(const kernels::KernelSource& source) const {
  std::string list = list_ + fmt::format("entry {}\n", source.entry);
  for (const std::string& option : source.options) list += fmt::format("option {}\n", option);
  list += fmt::format("source {}\n", source.text);
  return {core::Sha256().field(digest_).field(source.digest()).hex(), core::sha256_hex(list)};
}

}  // namespace wgrad::jit
