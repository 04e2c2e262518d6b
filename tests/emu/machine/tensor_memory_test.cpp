// Tensor memory and tcgen05: each rule of the machine with a kernel that keeps it and one that
// breaks it. docs/emulator.md has the table of rules with their sections of the PTX ISA.
#include <cmath>
#include <cstdint>
#include <vector>

#include "emu/machine/lab.hpp"
#include "emu/memory/tensor_map.hpp"
#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

constexpr u32 kInstruction = f16_instruction(InputType::kBf16, {128, 64}, {false, false});
constexpr u32 kBBytes = 64 * 128, kABytes = 128 * 128;
constexpr u32 kBarriers = kABytes + kBBytes, kAtom = kBarriers + 64, kSlot = kAtom + 512;

u32 at(u32 offset) {
  return arch::shared_base() + offset;
}
u32 barrier(u32 i) {
  return at(kBarriers + 8 * i);
}
u32 warp() {
  return arch::thread_index() / 32;
}
u32 quarter() {
  return warp() % 4 * 32 << 16;
}
u64 a() {
  return matrix_descriptor(kKMajor128, at(0));
}
u64 b() {
  return matrix_descriptor(kKMajor128, at(kABytes));
}
bool one() {
  return arch::thread_index() == 0;
}
void expect(bool ok, const char* what) {
  if (!ok) throw FaultError(FaultKind::kIllegal, what);
}

Lab lab(std::function<void()> kernel, u32 threads = 128, u32 ctas = 1) {
  Lab l(std::move(kernel), threads);
  l.launch.shared_bytes = kSlot + 16;
  l.launch.ctas = l.launch.cluster_size = ctas;
  l.launch.regions = {{"a", 0, kABytes, 1},
                      {"b", kABytes, kBBytes, 1},
                      {"barrier", kBarriers, 8, 8},
                      {"atom", kAtom, 512, 1},
                      {"slot", kSlot, 4, 4}};
  return l;
}

/// Operands of ones, barriers (1 arrival), 128 columns allocated: then `body(base)`, and all freed.
template <typename Body>
Lab prepared(const Body& body, u32 threads = 128, bool fence = true) {
  return lab(
      [=] {
        for (u32 i = arch::thread_index(); i < (kABytes + kBBytes) / 16; i += threads)
          arch::store_shared(at(16 * i), {{0x3f803f80, 0x3f803f80, 0x3f803f80, 0x3f803f80}});
        if (arch::thread_index() < 32)
          arch::store_shared(at(kAtom + 16 * arch::thread_index()),
                             {{0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f, 0x7f7f7f7f}});
        if (fence) arch::fence_async_shared();
        if (one()) {
          for (u32 i = 0; i < 4; ++i) arch::barrier_init(barrier(i), 1);
          arch::barrier_init_fence();
        }
        if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 128);
        arch::cta_sync();
        const u32 base = arch::load_shared_u32(at(kSlot));
        body(base);
        arch::cta_sync();
        if (warp() == 0) arch::tensor_memory_free<1>(base, 128);
      },
      threads);
}

void multiply(u32 d, bool accumulate = false, u32 instruction = kInstruction) {
  arch::tcgen05_multiply<1>(d, a(), b(), instruction, accumulate ? 1 : 0);
}
void finish(u32 i = 0) {
  if (one()) arch::tcgen05_commit<1>(barrier(i));
  arch::barrier_wait(barrier(i), 0);
  arch::tcgen05_fence_after_sync();
}
// Every result is `value`.
void check(u32 base, float value) {
  float v[64];
  arch::tensor_memory_load(v, quarter() + base);
  arch::tensor_memory_wait_loads();
  for (const float x : v) expect(x == value, "wrong value");
}

TEST(TensorMemory, ProductsOfOnes) {
  prepared([](u32 base) {
    if (one()) {
      multiply(base);
      multiply(base, true);
    }
    finish();
    check(base, 32);
  }).ends_well();
}

// 9.7.16.7.1
TEST(TensorMemory, AllocationsArePowersOfTwoThatDoNotGrow) {
  const auto kernel = [](u32 first, u32 second, bool relinquish) {
    return [=] {
      if (warp() != 0) return;
      arch::tensor_memory_alloc<1>(at(kSlot), first);
      arch::warp_sync();
      const u32 x = arch::load_shared_u32(at(kSlot));
      if (relinquish) arch::tensor_memory_relinquish<1>();
      arch::tensor_memory_alloc<1>(at(kSlot + 4), second);
      arch::warp_sync();
      const u32 y = arch::load_shared_u32(at(kSlot + 4));
      expect(x % first == 0 && y % second == 0 && (x + first <= y || y + second <= x), "places");
      arch::tensor_memory_free<1>(y, second);
      arch::tensor_memory_free<1>(x, first);
    };
  };
  lab(kernel(256, 256, false)).ends_well();
  lab(kernel(256, 128, false)).ends_well();
  lab(kernel(128, 256, false)).fails(FaultKind::kIllegal, "256 columns after one of 128");
  lab(kernel(96, 32, false)).fails(FaultKind::kIllegal, "a power of two");
  lab(kernel(1024, 32, false)).fails(FaultKind::kIllegal, "a power of two, 32 to 512");
  lab(kernel(16, 16, false)).fails(FaultKind::kIllegal, "a power of two, 32 to 512");
  lab(kernel(128, 128, true)).fails(FaultKind::kIllegal, "after tensor_memory_relinquish");
  lab(kernel(512, 512, false)).fails(FaultKind::kDeadlock, "512 columns, 1 allocations held");
}

// 9.7.16.5, 9.7.16.7.1
TEST(TensorMemory, AWarpAllocatesAsOne) {
  lab([] {
    if (arch::thread_index() < 31) arch::tensor_memory_alloc<1>(at(kSlot), 32);
  }).fails(FaultKind::kDeadlock, "31 of 32 lanes");
  lab([] {
    if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), arch::lane_index() < 16 ? 32 : 64);
  }).fails(FaultKind::kIllegal, "different operands");
  lab([] {
    if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 32);
  }).fails(FaultKind::kIllegal, "not freed");
  lab([] {
    if (warp() != 0) return;
    arch::tensor_memory_alloc<1>(at(kSlot), 64);
    arch::warp_sync();
    arch::tensor_memory_free<1>(arch::load_shared_u32(at(kSlot)), 32);
  }).fails(FaultKind::kIllegal, "are no allocation");
  const auto unsynced = lab([] {
                          if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 64);
                          if (arch::thread_index() == 0) arch::load_shared_u32(at(kSlot));
                        }).fault();
  ASSERT_TRUE(unsynced);
  EXPECT_NE(unsynced->text().find("slot[0]"), std::string::npos) << unsynced->text();
}

TEST(TensorMemory, AKernelHasOneCtaGroup) {
  lab([] {
    if (warp() != 0) return;
    arch::tensor_memory_alloc<1>(at(kSlot), 64);
    arch::warp_sync();
    arch::tensor_memory_free<2>(arch::load_shared_u32(at(kSlot)), 64);
  }).fails(FaultKind::kIllegal, "cta_group::2 in a kernel that uses cta_group::1");
  lab([] {
    if (warp() == 0) arch::tensor_memory_alloc<2>(at(kSlot), 64);
  }).fails(FaultKind::kIllegal, "cta_group::2 in a cluster of 1");
}

TEST(TensorMemory, NoAllocationOnceTheNextLaunchMayBegin) {
  lab([] {
    arch::launch_dependents();
    if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 64);
  }).fails(FaultKind::kIllegal, "after launch_dependents");
}

TEST(TensorMemory, TheNextLaunchWaitsForItsColumns) {
  const Lab one_launch = lab([] {
    if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 512);
    arch::cta_sync();
    arch::launch_dependents();
    if (warp() == 0) arch::tensor_memory_free<1>(arch::load_shared_u32(at(kSlot)), 512);
  });
  Launch next = one_launch.launch;
  next.programmatic = true;
  const std::vector<Launch> stream{one_launch.launch, next, next};
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    GlobalMemory memory;
    const auto f = run(stream, memory, {.seed = seed}).fault;
    EXPECT_FALSE(f) << f->text();
  }
}

// 9.7.16.8.1
TEST(TensorMemory, AWarpReachesItsQuarter) {
  prepared([](u32 base) {
    if (one()) multiply(base);
    finish();
    float v[32];
    arch::tensor_memory_load(v, base);
    arch::tensor_memory_wait_loads();
  }).fails(FaultKind::kIllegal, "which reaches lanes");
  prepared([](u32 base) {
    if (one()) multiply(base);
    finish();
    float v[32];
    arch::tensor_memory_load(v, quarter() + base + (arch::lane_index() == 3 ? 32 : 0));
    arch::tensor_memory_wait_loads();
  }).fails(FaultKind::kIllegal, "different addresses");
}

TEST(TensorMemory, AccessesLieInsideAllocations) {
  prepared([](u32 base) {
    float v[32];
    arch::tensor_memory_load(v, quarter() + (base + 128) % 512);
    arch::tensor_memory_wait_loads();
  }).fails(FaultKind::kOutOfBounds, "not all allocated");
  prepared([](u32 base) {
    if (one()) multiply(base + 96);
    finish();
  }).fails(FaultKind::kOutOfBounds, "tcgen05_multiply");
  prepared([](u32 base) {
    float v[32];
    arch::tensor_memory_load(v, quarter() + base);
    arch::tensor_memory_wait_loads();
  }).fails(FaultKind::kUninitialised, "written by nobody");
}

// 9.7.16.6.4.5, 9.7.16.8.5
TEST(TensorMemory, LoadsAreWaitedFor) {
  prepared([](u32 base) {
    if (one()) multiply(base);
    finish();
    float v[64];
    arch::tensor_memory_load(v, quarter() + base);
    for (const float x : v) expect(std::isnan(x), "a value before the wait");
    arch::tensor_memory_wait_loads();
    for (const float x : v) expect(x == 16, "wrong value");
  }).ends_well();
  lab([] {
    if (warp() == 0) arch::tensor_memory_alloc<1>(at(kSlot), 32);
    arch::cta_sync();
    const u32 base = arch::load_shared_u32(at(kSlot));
    static float v[32] = {};
    arch::tensor_memory_store(quarter() + base, v);
  }).fails(FaultKind::kIllegal, "stores to tensor memory that were not waited for");
}

TEST(TensorMemory, StoresAndLoadsOfAWarp) {
  const auto kernel = [](bool wait) {
    return prepared([=](u32 base) {
      float v[32];
      for (u32 i = 0; i < 32; ++i) v[i] = static_cast<float>(arch::thread_index() * 32 + i);
      arch::tensor_memory_store(quarter() + base, v);
      if (wait) arch::tensor_memory_wait_stores();
      float w[32];
      arch::tensor_memory_load(w, quarter() + base);
      arch::tensor_memory_wait_loads();
      for (u32 i = 0; i < 32; ++i) expect(v[i] == w[i], "round trip");
    });
  };
  kernel(true).ends_well();
  kernel(false).fails(FaultKind::kRace, "without tensor_memory_wait_loads or _stores");
}

// 9.7.16.6.3: warps 0 and 4 share a quarter.
TEST(TensorMemory, FencesLieAroundBarriers) {
  const auto kernel = [](bool wait, bool before, bool sync, bool after) {
    return prepared(
        [=](u32 base) {
          float v[32] = {};
          if (warp() < 4) {
            arch::tensor_memory_store(quarter() + base, v);
            if (wait) arch::tensor_memory_wait_stores();
            if (before) arch::tcgen05_fence_before_sync();
          }
          if (sync) arch::cta_sync();
          if (warp() >= 4) {
            if (after) arch::tcgen05_fence_after_sync();
            arch::tensor_memory_load(v, quarter() + base);
            arch::tensor_memory_wait_loads();
          }
          arch::tensor_memory_wait_stores();
        },
        256);
  };
  kernel(true, true, true, true).ends_well();
  kernel(false, true, true, true).fails(FaultKind::kRace, "without tensor_memory_wait");
  kernel(true, false, true, true).fails(FaultKind::kFence, "without tcgen05_fence_before_sync");
  kernel(true, true, true, false).fails(FaultKind::kFence, "without tcgen05_fence_after_sync");
  const auto f = kernel(true, true, false, true).fault(3);
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->kind == FaultKind::kRace || f->kind == FaultKind::kUninitialised) << f->text();
}

// 9.7.16.6.2
TEST(Tcgen05, WhatIsInOrderAndWhatIsNot) {
  constexpr u32 kNarrow = f16_instruction(InputType::kBf16, {128, 32}, {false, false});
  prepared([](u32 base) {  // another shape
    if (one()) {
      multiply(base);
      multiply(base, true, kNarrow);
    }
    finish();
  })
      .fails(FaultKind::kRace, "tcgen05_multiply #1");
  prepared([](u32 base) {  // another accumulator
    if (one()) {
      multiply(base);
      multiply(base + 64);
    }
    finish();
    check(base, 16);
    check(base + 64, 16);
  })
      .ends_well();
  prepared([](u32 base) {  // results as scale factors
    constexpr u32 kScaled =
        mxf8f6f4_instruction(ElementType::kE4m3, ElementType::kE4m3, {128, 64}, {false, false});
    if (one()) {
      multiply(base);
      arch::tcgen05_multiply_scaled<MmaKind::kMxf8f6f4, 1>(base + 64, a(), b(), kScaled, base,
                                                           base + 4, 0);
    }
    finish();
  })
      .fails(FaultKind::kRace, "written by tcgen05_multiply #1");
  prepared([](u32 base) {  // another thread
    if (arch::thread_index() % 64 == 0) {
      multiply(base);
      arch::tcgen05_commit<1>(barrier(arch::thread_index() / 64));
    }
    for (u32 i = 0; i < 2; ++i) arch::barrier_wait(barrier(i), 0);
    arch::tcgen05_fence_after_sync();
  })
      .fails(FaultKind::kRace, "nothing orders the two");
  prepared([](u32 base) {  // another thread, fenced around a barrier
    if (one()) {
      multiply(base);
      arch::tcgen05_fence_before_sync();
    }
    arch::cta_sync();
    if (arch::thread_index() == 64) {
      arch::tcgen05_fence_after_sync();
      multiply(base, true);
      arch::tcgen05_commit<1>(barrier(1));
    }
    arch::barrier_wait(barrier(1), 0);
    if (one()) arch::tcgen05_commit<1>(barrier(0));
    arch::barrier_wait(barrier(0), 0);
    arch::tcgen05_fence_after_sync();
  })
      .ends_well();
}

// 9.7.16.6.3: lanes of a warp are threads.
TEST(Tcgen05, LoadsOfAWarpComeBeforeItsOwnMultiplication) {
  const auto kernel = [](bool met) {
    return prepared([=](u32 base) {
      if (one()) multiply(base);
      finish();
      check(base, 16);
      if (warp() != 0) arch::tcgen05_fence_before_sync();
      arch::cta_sync();
      if (warp() == 0) {
        check(base, 16);
        arch::tcgen05_fence_before_sync();
        if (met) arch::warp_sync();
        arch::tcgen05_fence_after_sync();
      }
      if (one()) multiply(base, true);
      finish(1);
      check(base, 32);
    });
  };
  kernel(true).ends_well();
  kernel(false).fails(FaultKind::kRace, "read by tensor_memory_load of CTA 0 warp 0");
}

// 9.7.16.12.1: a commit covers its own thread's operations.
TEST(Tcgen05, ACommitIsOfItsThread) {
  prepared([](u32 base) {
    if (one()) multiply(base);
    arch::cta_sync();
    if (arch::thread_index() == 64) arch::tcgen05_commit<1>(barrier(0));
    arch::barrier_wait(barrier(0), 0);
    arch::tcgen05_fence_after_sync();
    check(base, 16);
  }).fails(FaultKind::kRace, "nothing orders the two");
  prepared([](u32 base) {
    if (one()) multiply(base);
    finish();
    if (one()) {
      for (u32 i = 0; i < 2; ++i) arch::tcgen05_commit<1>(barrier(1));
      arch::barrier_wait(barrier(1), 0);
    }
  }).fails(FaultKind::kIllegal, "commit");
  prepared([](u32) {
    if (one()) arch::tcgen05_commit_multicast<1>(barrier(0), 2);
  }).fails(FaultKind::kIllegal, "of a cluster of 1");
}

// A commit hands on what its thread knew, not what it stored itself.
TEST(Tcgen05, ACommitReleasesNoOrdinaryStore) {
  prepared([](u32) {
    if (one()) {
      arch::store_shared_u32(at(kSlot + 8), 1);
      arch::tcgen05_commit<1>(barrier(0));
    }
    arch::barrier_wait(barrier(0), 0);
    if (arch::thread_index() == 40) arch::load_shared_u32(at(kSlot + 8));
  }).fails(FaultKind::kRace, "slot[0]");
}

// 9.7.16.6.5
TEST(Tcgen05, OperandsAreFencedAndKept) {
  prepared(
      [](u32 base) {
        if (one()) multiply(base);
        finish();
      },
      128, false)
      .fails(FaultKind::kProxy, "tcgen05 operation");
  const auto overwrite = [](bool wait) {
    return prepared([=](u32 base) {
      if (one()) multiply(base);
      if (wait) finish();
      if (one()) arch::store_shared(at(kABytes), {});
      if (!wait) finish();
    });
  };
  overwrite(true).ends_well();
  overwrite(false).fails(FaultKind::kRace, "CTA 0 b[0] + 0x0: read by tcgen05 operation");
  prepared([](u32 base) {
    if (one())
      arch::tcgen05_multiply<1>(base, matrix_descriptor(kKMajor128, at(32 * 1024)), b(),
                                kInstruction, 0);
    finish();
  }).fails(FaultKind::kOutOfBounds, "A of 16 bytes");
}

TEST(Tcgen05, ItsMemoryIsFreedOnceAllIsComplete) {
  prepared([](u32 base) {
    if (one()) multiply(base);
  }).fails(FaultKind::kRace, "freed, and nothing orders the two");
}

// 9.7.16.10.7, 9.7.16.9
TEST(Tcgen05, ScaleFactorsLieInAllQuarters) {
  const auto kernel = [](bool spoil, bool again) {
    return prepared([=](u32 base) {
      constexpr u32 kScaled =
          mxf8f6f4_instruction(ElementType::kE4m3, ElementType::kE4m3, {128, 64}, {false, false});
      const u32 scales = base + 64;
      const u64 atom = matrix_descriptor(kScaleAtoms, at(kAtom));
      if (one()) {
        arch::tcgen05_copy_scales<1>(scales, atom);
        arch::tcgen05_copy_scales<1>(scales + 4, atom);
      }
      finish();
      if (spoil && warp() == 2) {
        float v[32] = {};
        arch::tensor_memory_store(quarter() + scales, v);
        arch::tensor_memory_wait_stores();
        arch::tcgen05_fence_before_sync();
      }
      arch::cta_sync();
      arch::tcgen05_fence_after_sync();
      if (one()) {
        arch::tcgen05_multiply_scaled<MmaKind::kMxf8f6f4, 1>(base, a(), b(), kScaled, scales,
                                                             scales + 4, 0);
        if (again) arch::tcgen05_copy_scales<1>(scales, atom);
      }
      finish(1);
    });
  };
  kernel(false, false).ends_well();
  kernel(true, false).fails(FaultKind::kIllegal, "SFA of row 0 differs between lanes 0 and 64");
  kernel(false, true).fails(FaultKind::kRace, "then used by tcgen05_copy_scales");
}

TEST(Tcgen05, ScaleFactorsAreNoResults) {
  constexpr u32 kScaled =
      mxf8f6f4_instruction(ElementType::kE4m3, ElementType::kE4m3, {128, 64}, {false, false});
  const auto kernel = [](u32 scales) {
    return prepared([=](u32 base) {
      const u64 atom = matrix_descriptor(kScaleAtoms, at(kAtom));
      if (one()) {
        for (const u32 column : {96U, 100U}) arch::tcgen05_copy_scales<1>(base + column, atom);
        arch::tcgen05_multiply_scaled<MmaKind::kMxf8f6f4, 1>(base, a(), b(), kScaled, base + 96,
                                                             base + 100, 0);
        arch::tcgen05_multiply_scaled<MmaKind::kMxf8f6f4, 1>(base, a(), b(), kScaled, base + scales,
                                                             base + 100, 1);
      }
      finish();
    });
  };
  kernel(96).ends_well();
  kernel(60).fails(FaultKind::kIllegal, "results over the scale factors");
}

// The pair's rules of issue: 9.7.16.5.
TEST(Tcgen05, APairIsIssuedByItsEvenCta) {
  lab(
      [] {
        if (one()) {
          arch::barrier_init(barrier(0), 1);
          arch::barrier_init_fence();
        }
        arch::cluster_sync();
        if (warp() == 0) arch::tensor_memory_alloc<2>(at(kSlot), 128);
        arch::cluster_sync();
        const u32 base = arch::load_shared_u32(at(kSlot));
        if (arch::cluster_rank() == 1 && one())
          arch::tcgen05_multiply<2>(
              base, a(), b(), f16_instruction(InputType::kBf16, {256, 64}, {false, false}), 0);
        arch::cluster_sync();
        if (warp() == 0) arch::tensor_memory_free<2>(base, 128);
      },
      128, 2)
      .fails(FaultKind::kIllegal, "for a pair by its odd CTA 1");
}

TEST(Tcgen05, APairAllocatesAndFreesTogether) {
  const auto kernel = [](bool both, u32 columns_of_peer, bool sync) {
    return lab(
        [=] {
          arch::cluster_sync();
          const u32 columns = arch::cluster_rank() == 0 ? 128 : columns_of_peer;
          if (warp() == 0 && (both || arch::cluster_rank() == 0))
            arch::tensor_memory_alloc<2>(at(kSlot), columns);
          sync ? arch::cluster_sync() : arch::cta_sync();
          if (warp() != 0 || (!both && arch::cluster_rank() != 0)) return;
          arch::tensor_memory_free<2>(arch::load_shared_u32(at(kSlot)), columns);
        },
        128, 2);
  };
  kernel(true, 128, true).ends_well();
  kernel(false, 128, true).fails(FaultKind::kDeadlock, "CTA 1 of its pair to allocate too");
  kernel(true, 64, true).fails(FaultKind::kIllegal, "different warps, slots or columns");
  kernel(true, 128, false).fails(FaultKind::kIllegal, "before the allocation of CTA");
}

// 9.7.9.27.1.2: the mbarrier of a pair's load is in one of its CTAs.
TEST(Tcgen05, APairsLoadCountsInThePair) {
  static std::vector<std::uint16_t> data(64 * 64, 0);
  TensorMapFields f;
  f.rank = 2;
  f.dims = {64, 64, 0, 0, 0};
  f.strides = {128, 0, 0, 0};
  f.box = {64, 8, 0, 0, 0};
  f.base = reinterpret_cast<u64>(data.data());
  static const shared::TensorMap kMap = encode(f);
  const auto kernel = [](u32 counting) {
    Lab l = lab(
        [=] {
          if (one()) {
            arch::barrier_init(barrier(0), 1);
            arch::barrier_init_fence();
          }
          arch::cluster_sync();
          if (one() && arch::cluster_rank() == 3)
            arch::load_box_of_pair<2>(at(0), kMap, arch::map_to_rank(barrier(0), counting), {});
          if (one() && arch::cluster_rank() == counting) {
            arch::barrier_arrive_expect(barrier(0), 1024);
            arch::barrier_wait(barrier(0), 0);
          }
          arch::cluster_sync();
        },
        128, 4);
    l.memory.add("data", data.data(), data.size() * 2, Permission::kRead);
    return l;
  };
  kernel(2).ends_well();
  kernel(3).ends_well();
  kernel(1).fails(FaultKind::kIllegal, "an mbarrier of neither of its CTAs");
}

// Atoms that each CTA of a pair brings, counted on its own mbarrier: the leader's copy reads both.
TEST(Tcgen05, APairsScaleFactorsAreHandedToItsLeader) {
  alignas(16) static std::uint8_t data[512];
  const auto kernel = [](bool hand_over) {
    Lab l = lab(
        [=] {
          if (one()) {
            arch::barrier_init(barrier(0), 1);
            arch::barrier_init(barrier(1), hand_over ? 2 : 1);
            arch::barrier_init(barrier(2), 1);
            arch::barrier_init_fence();
          }
          arch::cluster_sync();
          if (warp() == 0) arch::tensor_memory_alloc<2>(at(kSlot), 32);
          arch::cluster_sync();
          const u32 base = arch::load_shared_u32(at(kSlot)), rank = arch::cluster_rank();
          if (one()) {
            arch::barrier_arrive_expect(barrier(0), 512);
            arch::load_bytes(at(kAtom), reinterpret_cast<u64>(data), 512, barrier(0));
            arch::barrier_wait(barrier(0), 0);
            if (rank == 0 || hand_over)
              arch::barrier_arrive_cluster(arch::map_to_rank(barrier(1), 0));
            if (rank == 0) {
              arch::barrier_wait(barrier(1), 0);
              arch::tcgen05_copy_scales<2>(base, matrix_descriptor(kScaleAtoms, at(kAtom)));
              arch::tcgen05_commit_multicast<2>(barrier(2), 3);
            }
          }
          arch::barrier_wait(barrier(2), 0);
          arch::tcgen05_fence_after_sync();
          arch::cluster_sync();
          if (warp() == 0) arch::tensor_memory_free<2>(base, 32);
        },
        128, 2);
    l.memory.add("data", data, sizeof data, Permission::kRead);
    return l;
  };
  kernel(true).ends_well();
  const auto f = kernel(false).fault(3);
  ASSERT_TRUE(f);
  EXPECT_NE(f->text().find("CTA 1 atom[0]"), std::string::npos) << f->text();
}

}  // namespace
}  // namespace wgrad::emu
