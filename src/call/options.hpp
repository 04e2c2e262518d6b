// Everything but tensors of a call.
#pragma once

#include <optional>
#include <string>

#include "wgrad/problem.hpp"

namespace wgrad::call {

/// What of the options concerns how an operator is prepared, beside its Problem.
struct Preparation {
  std::string backend;  ///< "": the planner's choice
  bool validate_device_data = false;
  int sm_limit = 0;               ///< multiprocessors a launch may use; 0: all
  bool allow_unverified = false;  ///< also kernels that have never run on a GPU like the device

  bool operator==(const Preparation&) const = default;
};

/// As a caller states them. Values are not judged here.
struct Options {
  Tiling tiling;
  std::optional<int> sf_vec_size;  ///< nullopt: as the scale factors' dtype says
  ScaleLayout scale_layout = ScaleLayout::kSwizzled;
  InputOrder input_order = InputOrder::kTensor2d;
  bool accumulate = false;
  bool fast_accumulation = false;
  std::optional<DType> wgrad_dtype;  ///< nullopt: the output's own, else the default
  DType acc_dtype = DType::kF32;
  std::string sf_fp8_dtype_override;  ///< "": not given
  Preparation preparation;
};

/// Two extents that one option gives.
struct Extents {
  int& m;
  int& n;
};

/// Calls see(name, option) for each option, by the core's name of it; front ends set and read them
/// so. Unlike the rest, an option of type Extents is handed over by value.
template <class See>
void each_option(Options& options, See&& see) {
  auto& [tiling, sf_vec_size, scale_layout, input_order, accumulate, fast_accumulation, wgrad_dtype,
         acc_dtype, sf_fp8_dtype_override, preparation] = options;
  auto& [backend, validate_device_data, sm_limit, allow_unverified] = preparation;
  see("mma_tiler_mn", Extents{tiling.tile_m, tiling.tile_n});
  see("cluster_shape_mn", Extents{tiling.cluster_m, tiling.cluster_n});
  see("sf_vec_size", sf_vec_size);
  see("compact_scales", scale_layout);
  see("input_order", input_order);
  see("accumulate", accumulate);
  see("fast_accumulation", fast_accumulation);
  see("wgrad_dtype", wgrad_dtype);
  see("acc_dtype", acc_dtype);
  see("sf_fp8_dtype_override", sf_fp8_dtype_override);
  see("backend", backend);
  see("validate_device_data", validate_device_data);
  see("sm_limit", sm_limit);
  see("allow_unverified", allow_unverified);
}

}  // namespace wgrad::call
