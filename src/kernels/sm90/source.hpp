// Config to source: the SM90 kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/kernel_source.hpp"
#include "plan/plan.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::kernels::sm90 {

/// What tells the translation units of the families' kernels apart.
struct Unit {
  std::string_view kernel;      ///< the family: its folder in device/wgrad/, wgrad_<kernel>
  std::string shape;            ///< for people: tile and kind
  std::string config_text;      ///< defines kConfig
  std::string_view parameters;  ///< type of the kernel's parameter
  std::size_t parameter_bytes = 0;
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory of a CTA
  int threads = 0;                 ///< of a CTA
  int arch = 90;                   ///< compute capability times ten
};
KernelSource unit(const Unit& u);

KernelSource source(const shared::Config& config);

/// KernelFamily::source.
KernelSource source_of(const plan::Plan& plan);

}  // namespace wgrad::kernels::sm90
