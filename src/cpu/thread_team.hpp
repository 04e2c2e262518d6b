// Threads that share the tasks of a run.
//
// Why not OpenMP: GNU's runtime hangs in a forked child that opens a parallel region after its
// parent did (data loaders fork), and a caller inside somebody's parallel region would get one
// thread. So wgrad keeps its own threads and asks oneDNN for one each; whatever OpenMP runtime the
// process holds (torch brings one) is never asked for a team. The caller always works too: a run
// finishes even when every helper is busy elsewhere or none could be started.
#pragma once

#include <cstdint>
#include <functional>

namespace wgrad::cpu {

/// Calls task(i) once for each i in [0, count), on the caller and at most `threads` - 1 helpers, in
/// increasing order of start; returns when all have ended. Rethrows the first exception, after
/// which tasks not yet begun are dropped. Safe from several threads at once, after fork, and
/// nested.
void run_tasks(std::int64_t count, int threads, const std::function<void(std::int64_t)>& task);

/// Helpers started so far in this process; for tests.
int helper_count();

}  // namespace wgrad::cpu
