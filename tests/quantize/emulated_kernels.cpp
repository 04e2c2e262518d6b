#include "quantize/emulated_kernels.hpp"

#include <utility>

#include "quantize/emulated_configs.hpp"
#include "wgrad/quantize/quantize.cuh"

namespace wgrad::quantize {
namespace {

const shared::QuantizeParams& params(const void* parameters) {
  return *static_cast<const shared::QuantizeParams*>(parameters);
}

void run_table(const void* parameters) {
  device::wgrad_quantize_table(params(parameters));
}
template <std::size_t kIndex>
void run_codes(const void* parameters) {
  device::wgrad_quantize<kCodeConfigs[kIndex]>(params(parameters));
}
template <std::size_t kIndex>
void run_amax(const void* parameters) {
  device::wgrad_quantize_amax<kAmaxConfigs[kIndex]>(params(parameters));
}

template <std::size_t... kCodes, std::size_t... kAmax>
std::vector<EmulatedKernel> compiled(std::index_sequence<kCodes...>,
                                     std::index_sequence<kAmax...>) {
  return {{{Stage::kTable, {}}, &run_table},
          {{Stage::kCodes, kCodeConfigs[kCodes]}, &run_codes<kCodes>}...,
          {{Stage::kAmax, kAmaxConfigs[kAmax]}, &run_amax<kAmax>}...};
}

}  // namespace

const std::vector<EmulatedKernel>& emulated_kernels() {
  static const std::vector<EmulatedKernel> kAll =
      compiled(std::make_index_sequence<kCodeConfigs.size()>(),
               std::make_index_sequence<kAmaxConfigs.size()>());
  return kAll;
}

}  // namespace wgrad::quantize
