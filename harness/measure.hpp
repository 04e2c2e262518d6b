// Time of a run.
#pragma once

#include <vector>

#include "harness/memory/device.hpp"
#include "harness/workload.hpp"
#include "wgrad/executable.hpp"

namespace wgrad::harness {

/// Milliseconds of `repeats` runs, one after another: the wall's on a CPU, the GPU's on a GPU.
std::vector<double> measure(const Executable& executable, const Workload& workload, Device& device,
                            int repeats);

/// The middle value; the mean of both middle ones for an even number. `values` must not be empty.
double median(std::vector<double> values);

}  // namespace wgrad::harness
