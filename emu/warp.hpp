// Where the lanes of a warp meet: .sync instructions.
#pragma once

#include <fmt/format.h>

#include <cstring>

#include "emu/cluster.hpp"

namespace wgrad::emu {

// A rendezvous of the warp's 32 threads; the last to arrive runs `act` on what they brought.
template <typename Act>
Words gather(Thread& thread, const char* what, std::uint64_t in, const Act& act) {
  Warp& warp = thread.cta->warps[thread.warp()];
  if (warp.arrived != 0 && std::strcmp(warp.what, what) != 0) {
    throw FaultError(FaultKind::kIllegal,
                     fmt::format("{} while other lanes of the warp execute {}", what, warp.what));
  }
  warp.what = what;
  warp.in[thread.lane()] = in;
  if (++warp.arrived < kWarpThreads) {
    const std::uint64_t generation = warp.generation;
    warp.waiting.push_back(&thread);
    while (warp.generation == generation) thread.cluster->block(thread, {WaitKind::kWarp, 0, 0});
  } else {
    warp.arrived = 0;
    act(warp);
    ++warp.generation;
    thread.cluster->wake_all(warp.waiting);
  }
  return warp.out[thread.lane()];
}

}  // namespace wgrad::emu
