// The CUDA driver, opened while the program runs.
#pragma once

#include <string>
#include <string_view>

#include "launch/driver/driver_api.hpp"

namespace wgrad::launch {

/// Opens `library` (libcuda.so.1 by default) and initialises it. Throws RuntimeError where there is
/// none, where it is older than CUDA 12.0, or where it finds no device.
DriverApi open_driver(const std::string& library = "libcuda.so.1");

/// Throws RuntimeError "wgrad: <what>: <the driver's words>" where `result` is an error.
void check(const DriverApi& api, CuResult result, std::string_view what);

/// Of the newest CUDA that the driver serves: 12040 is 12.4.
int version_number(const DriverApi& api);
/// "12.4"
std::string driver_version(const DriverApi& api);

}  // namespace wgrad::launch
