// Config to source: the SM90 kernel.
#pragma once

#include "codegen/kernel_source.hpp"
#include "wgrad/sm90/config.hpp"

namespace wgrad::codegen {

KernelSource sm90_source(const shared::Config& config);

}  // namespace wgrad::codegen
