// Records what a warp does when, by one of its lanes. Nothing at all unless Config::trace.
#pragma once

#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/trace.hpp"

namespace wgrad::device {

template <bool kOn>
struct TraceOf {
  template <KernelConfig auto kConfig>
  WGRAD_DEVICE static TraceOf start(const KernelParams&) {
    return {};
  }
  template <KernelConfig auto kConfig>
  WGRAD_DEVICE static TraceOf start_alone(const KernelParams&) {
    return {};
  }
  WGRAD_DEVICE u32 now() const { return 0; }
  WGRAD_DEVICE void record(TraceKind, u32, u32) {}
  WGRAD_DEVICE void anchor() {}
  template <typename Act>
  WGRAD_DEVICE void span(TraceKind, u32, const Act& act) {
    act();
  }
};

template <>
struct TraceOf<true> {
  u64 next = 0;  // address of the next event; 0: another lane records
  u64 end = 0;

  template <KernelConfig auto kConfig>
  WGRAD_DEVICE static TraceOf start(const KernelParams& p) {
    if (arch::lane_index() == 0) return start_alone<kConfig>(p);
    TraceOf t;
    t.anchor();
    return t;
  }
  // By the one lane of a warp that acts.
  template <KernelConfig auto kConfig>
  WGRAD_DEVICE static TraceOf start_alone(const KernelParams& p) {
    TraceOf t;
    const u64 first = trace_track(kConfig, arch::block_index(), arch::thread_index() / 32);
    t.next = p.trace + first * sizeof(TraceEvent);
    t.end = t.next + kTraceEvents * sizeof(TraceEvent);
    t.anchor();
    return t;
  }

  WGRAD_DEVICE u32 now() const { return arch::clock(); }
  WGRAD_DEVICE void put(u32 begin, u32 until, TraceKind kind, u32 detail) {
    if (next == end) return;
    arch::store_global(next, {{begin, until, u32(kind), detail}});
    next += sizeof(TraceEvent);
  }
  WGRAD_DEVICE void record(TraceKind kind, u32 detail, u32 begin) {
    put(begin, arch::clock(), kind, detail);
  }
  // Relates the SM's clock to the timer that all SMs share; at the end in place of an event, if it
  // must.
  WGRAD_DEVICE void anchor() {
    if (end != 0 && next == end) next -= sizeof(TraceEvent);
    const u64 time = arch::timer_nanoseconds();
    put(arch::clock(), u32(time), TraceKind::kAnchor, u32(time >> 32));
  }
  template <typename Act>
  WGRAD_DEVICE void span(TraceKind kind, u32 detail, const Act& act) {
    const u32 begin = now();
    act();
    record(kind, detail, begin);
  }
};

template <KernelConfig auto kConfig>
using Trace = TraceOf<kConfig.trace>;

}  // namespace wgrad::device
