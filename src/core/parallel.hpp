// Plain data parallelism on the host.
#pragma once

#include <cstdint>
#include <functional>

namespace wgrad::core {

/// Threads this process may use: WGRAD_THREADS, else the cores it may run on, or fewer under
/// a CPU quota; at least 1. Throws
/// ValueError where WGRAD_THREADS is no number.
int usable_threads();

/// Calls body(0) .. body(count - 1), each once, on up to `threads` threads, in no given order, with
/// the default floating-point environment, and returns when all are done. The first exception of a
/// body is rethrown.
void parallel_for(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body);

}  // namespace wgrad::core
