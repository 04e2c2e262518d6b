#include "kernels/kernel_source.hpp"

#include "core/digest.hpp"

namespace wgrad::kernels {

std::string KernelSource::digest() const {
  core::Sha256 digest;
  digest.field(entry).field(text);
  for (const std::string& option : options) digest.field(option);
  return digest.hex();
}

}  // namespace wgrad::kernels
