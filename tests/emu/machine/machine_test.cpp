// Barriers, collectives, registers, memory: each rule of the machine with a kernel that keeps it
// and one that breaks it.
#include "emu/machine.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "emu/machine/lab.hpp"
#include "wgrad/arch/arch.cuh"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

u32 slot(u32 i) {
  return arch::shared_base() + 4 * i;
}
u32 barrier(u32 i) {
  return arch::shared_base() + 4096 + 8 * i;
}

TEST(Machine, BarriersOrderSharedMemory) {
  const auto exchange = [](bool sync) {
    return [sync] {
      const u32 t = arch::thread_index();
      arch::store_shared_u32(slot(t), t * t);
      if (sync) arch::cta_sync();
      const u32 other = t ^ 33;
      if (arch::load_shared_u32(slot(other)) != other * other)
        throw FaultError(FaultKind::kIllegal, "wrong value");
    };
  };
  Lab(exchange(true)).ends_well();
  Lab lab(exchange(false));
  const auto f = lab.fault(3);
  ASSERT_TRUE(f);
  EXPECT_TRUE(f->kind == FaultKind::kRace || f->kind == FaultKind::kUninitialised) << f->text();
}

TEST(Machine, AWriteAfterAnUnorderedReadIsARace) {
  Lab([] {
    const u32 t = arch::thread_index();
    if (t == 0) arch::store_shared_u32(slot(0), 7);
    arch::cta_sync();
    if (t == 5) arch::load_shared_u32(slot(0));
    if (t == 40) arch::store_shared_u32(slot(0), 8);
  }).fails(FaultKind::kRace, "data[0]");
}

TEST(Machine, NeighboursInSixteenBytesAreNoRace) {
  Lab([] {
    const u32 t = arch::thread_index();
    arch::store_shared_u16(arch::shared_base() + 2 * t, t + 1);
    arch::cta_sync();
    u32 sum = 0;
    for (u32 i = 0; i < 64; ++i) sum += arch::load_shared_u16(arch::shared_base() + 2 * i);
    if (sum != 64 * 65 / 2) throw FaultError(FaultKind::kIllegal, "wrong sum");
  }).ends_well();
}

TEST(Machine, UnwrittenSharedMemoryIsNotRead) {
  Lab([] { arch::load_shared_u32(slot(9)); }).fails(FaultKind::kUninitialised, "data[0] + 0x20");
}

TEST(Machine, NamedBarriersCountThreads) {
  Lab([] {
    const u32 t = arch::thread_index();
    if (t < 32) arch::store_shared_u32(slot(t), t);
    arch::named_sync(1, 64);
    if (t >= 32) arch::load_shared_u32(slot(t - 32));
  }).ends_well();
  Lab([] {
    if (arch::thread_index() < 32) arch::named_sync(3, 64);
  }).fails(FaultKind::kDeadlock, "named barrier 3: 32 of 64");
  Lab([] { arch::named_sync(arch::thread_index() / 32, 40); }).fails(FaultKind::kIllegal);
}

TEST(Machine, MbarrierPhasesOrder) {
  const auto hand_over = [](u32 arrivals) {
    return [arrivals] {
      const u32 t = arch::thread_index();
      if (t == 0) {
        arch::barrier_init(barrier(0), arrivals);
        arch::barrier_init_fence();
      }
      arch::cta_sync();
      for (u32 phase = 0; phase < 5; ++phase) {
        if (t < 32) {
          arch::store_shared_u32(slot(t), t + phase);
          arch::barrier_arrive(barrier(0));
        } else {
          arch::barrier_wait(barrier(0), phase & 1);
          if (arch::load_shared_u32(slot(63 - t)) != 63 - t + phase)
            throw FaultError(FaultKind::kIllegal, "stale");
        }
        arch::cta_sync();
      }
    };
  };
  Lab(hand_over(32)).ends_well();
  Lab(hand_over(33))
      .fails(FaultKind::kDeadlock, "barrier[0] + 0x0 parity 0: it is in phase 0, 1 of 33 arrivals");
}

TEST(Machine, MbarrierMisuseIsRefused) {
  Lab([] {
    arch::barrier_arrive(barrier(0));
  }).fails(FaultKind::kIllegal, "no initialised mbarrier");
  Lab([] {
    if (arch::thread_index() != 0) return;
    arch::barrier_init(barrier(1), 1);
    arch::store_shared_u32(barrier(1), 0);
  }).fails(FaultKind::kIllegal, "ordinary store of an mbarrier");
}

TEST(Machine, AWaitOnAnUnannouncedBarrierIsARace) {
  Lab lab([] {
    if (arch::thread_index() == 0) arch::barrier_init(barrier(1), 1);
    if (arch::thread_index() == 1) arch::barrier_wait(barrier(1), 1);
  });
  const auto f = lab.fault();
  ASSERT_TRUE(f);
}

TEST(Machine, ShufflesAndElections) {
  Lab([] {
    const u32 t = arch::thread_index();
    if (arch::warp_uniform(t + 3) != t / 32 * 32 + 3)
      throw FaultError(FaultKind::kIllegal, "shuffle");
    if (ballot(t % 2 == 0) != 0x55555555u) throw FaultError(FaultKind::kIllegal, "ballot");
    const u32 chosen = ballot(elect());
    if (std::popcount(chosen) != 1) throw FaultError(FaultKind::kIllegal, "elect");
    if (ballot(arch::elect_one()) != chosen) throw FaultError(FaultKind::kIllegal, "elect again");
  }).ends_well();
  Lab([] {
    if (arch::lane_index() != 7) arch::warp_uniform(0);
  }).fails(FaultKind::kDeadlock, "shuffle: 31 of 32");
}

TEST(Machine, MatricesGoThroughSharedMemory) {
  Lab([] {
    const u32 t = arch::thread_index(), lane = arch::lane_index();
    const u32 base = arch::shared_base() + t / 32 * 512;
    arch::Chunk c{};
    for (u32 j = 0; j < 4; ++j) c.word[j] = t * 16 + j;
    arch::store_matrices(base + 16 * lane, c);
    warp_sync();
    // Row r of matrix j holds word j of lanes 4r to 4r + 3.
    const u32 row = lane % 8, matrix = lane / 8;
    const arch::Chunk raw = arch::load_shared(base + 16 * lane);
    for (u32 i = 0; i < 4; ++i) {
      if (raw.word[i] != (t / 32 * 32 + 4 * row + i) * 16 + matrix)
        throw FaultError(FaultKind::kIllegal, "layout");
    }
    const arch::Chunk back = arch::load_matrices(base + 16 * lane);
    for (u32 j = 0; j < 4; ++j) {
      if (back.word[j] != c.word[j]) throw FaultError(FaultKind::kIllegal, "round trip");
    }
  }).ends_well();
}

TEST(Machine, MatricesAreReadTransposed) {
  Lab([] {
    const u32 t = arch::thread_index(), lane = arch::lane_index();
    const u32 base = arch::shared_base() + t / 32 * 512;
    // Element (row, column) of matrix j is 64 j + 8 row + column.
    for (u32 i = 0; i < 8; ++i) arch::store_shared_u16(base + 16 * lane + 2 * i, 8 * lane + i);
    warp_sync();
    const arch::Chunk c = arch::load_matrices_transposed(base + 16 * lane);
    for (u32 j = 0; j < 4; ++j) {
      const u32 low = 64 * j + 8 * (lane % 4 * 2) + lane / 4;
      if (c.word[j] != (low | (low + 8) << 16)) throw FaultError(FaultKind::kIllegal, "transposed");
    }
  }).ends_well();
}

TEST(Machine, RegistersMoveWithinTheFile) {
  const auto move = [](u32 give, u32 take) {
    return [give, take] {
      if (arch::thread_index() < 128) {
        emu::release_registers(give);
      } else {
        emu::claim_registers(take);
      }
    };
  };
  const auto lab = [&](u32 give, u32 take) {
    Lab l(move(give, take), 384);
    l.launch.registers = 168;
    return l;
  };
  lab(40, 232).ends_well();
  lab(56, 224).ends_well();
  lab(40, 240).fails(FaultKind::kDeadlock, "240 registers");
  lab(56, 240).fails(FaultKind::kDeadlock, "240 registers");
  lab(176, 232).fails(FaultKind::kIllegal, "release");
  lab(44, 232).fails(FaultKind::kIllegal, "multiple of 8");
}

TEST(Machine, GlobalMemoryIsBounded) {
  std::vector<std::int32_t> data(16, 5);
  const auto address = reinterpret_cast<u64>(data.data());
  const auto lab = [&](std::function<void()> kernel, Permission permission = Permission::kRead) {
    Lab l(std::move(kernel), 32);
    l.memory.add("data", data.data(), data.size() * 4, permission);
    return l;
  };
  lab([=] { arch::load_global_i32(address + 60); }).ends_well();
  lab([=] {
    arch::load_global_i32(address + 64);
  }).fails(FaultKind::kOutOfBounds, "0 bytes past the end of data");
  lab([=] { arch::load_global_i32(address + 2); }).fails(FaultKind::kMisaligned);
  lab([=] { arch::store_global_i32(address, 1); }).fails(FaultKind::kOutOfBounds, "read-only");
  lab([=] { emu::add_global(address, 1); }, Permission::kReadWrite).ends_well();
  EXPECT_EQ(data[0], 5 + 8 * 32);
}

TEST(Machine, UnorderedStoresToGlobalMemoryAreARace) {
  std::vector<std::int32_t> data(64, 0);
  const auto address = reinterpret_cast<u64>(data.data());
  const auto lab = [&](std::function<void()> kernel, u32 ctas = 1) {
    Lab l(std::move(kernel), 64);
    l.launch.ctas = ctas;
    l.memory.add("data", data.data(), data.size() * 4, Permission::kReadWrite);
    return l;
  };
  const auto twice = [=](bool sync) {
    return [=] {
      if (arch::thread_index() == 3) arch::store_global_i32(address + 8, 1);
      if (sync) arch::cta_sync();
      if (arch::thread_index() == 40) arch::store_global_i64(address + 8, 2);
    };
  };
  lab(twice(true)).ends_well();
  lab(twice(false)).fails(FaultKind::kRace, "data + 0x8");
  lab([=] { arch::store_output_u16(address + u64{2} * arch::thread_index(), 1); }).ends_well();
  lab(
      [=] {
        if (arch::thread_index() == 0) arch::store_global_i32(address, 1);
      },
      2)
      .fails(FaultKind::kRace, "data + 0x0");
}

// Thread 0 stores 32 bytes by the copy engine, or loads them by it; thread t does what it likes.
TEST(Machine, OrdinaryAccessesBesideTheCopyEngine) {
  alignas(16) static std::uint32_t data[16];
  const auto lab = [](bool engine_writes, bool wait, const std::function<void(u64)>& act) {
    Lab l([=] {
      const auto address = reinterpret_cast<u64>(data);
      const u32 t = arch::thread_index();
      if (t == 0) {
        arch::store_shared(slot(0), {});
        arch::store_shared(slot(4), {});
        arch::barrier_init(barrier(0), 1);
        arch::barrier_init_fence();
        arch::fence_async_shared();
        if (engine_writes) {
          emu::store_bytes(address, slot(0), 32);
          arch::commit_stores();
          wait ? arch::wait_stores() : arch::wait_stores_read<0>();
        } else {
          arch::barrier_arrive_expect(barrier(0), 32);
          emu::load_bytes(slot(0), address, 32, barrier(0));
        }
      }
      if (!engine_writes && wait) {
        arch::cta_sync();
        arch::barrier_wait(barrier(0), 0);
      }
      arch::cta_sync();
      if (t == 40) act(address + 20);
      if (!engine_writes && !wait) arch::barrier_wait(barrier(0), 0);
    });
    l.memory.add("data", data, sizeof data, Permission::kReadWrite);
    return l;
  };
  const auto load = [](u64 at) { arch::load_output_f32(at); };
  const auto store = [](u64 at) { arch::store_output_f32(at, 1.0f); };
  const auto beside = [](u64 at) { arch::store_output_f32(at + 12, 1.0f); };
  const auto add = [](u64 at) { arch::add_global_u32(at, 1); };
  for (const bool writes : {false, true}) {
    lab(writes, true, store).ends_well();
    lab(writes, true, load).ends_well();
    lab(writes, false, beside).ends_well();
    lab(writes, false, store).fails(FaultKind::kRace, writes ? "writes" : "reads");
    lab(writes, false, add).fails(FaultKind::kRace, "data");
  }
  lab(true, false, load).fails(FaultKind::kRace, "read of data");
  lab(false, false, load).ends_well();  // both read
}

TEST(Machine, TheCopyEngineComesAfterOrdinaryStores) {
  alignas(16) static std::uint32_t data[16];
  const auto lab = [](bool sync, u32 at) {
    Lab l([=] {
      const u32 t = arch::thread_index();
      if (t == 40) arch::store_global_i32(reinterpret_cast<u64>(data) + at, 5);
      if (sync) arch::cta_sync();
      if (t != 0) return;
      arch::store_shared(slot(0), {});
      arch::fence_async_shared();
      emu::store_bytes(reinterpret_cast<u64>(data), slot(0), 16);
      arch::commit_stores();
      arch::wait_stores();
    });
    l.memory.add("data", data, sizeof data, Permission::kReadWrite);
    return l;
  };
  lab(true, 12).ends_well();
  lab(false, 16).ends_well();
  lab(false, 12).fails(FaultKind::kRace, "data");
}

// 64 copies of 16 bytes, the last of 6; then neighbours read them.
std::function<void()> copies(const std::vector<std::uint32_t>& source, bool wait, bool share) {
  return [&source, wait, share] {
    const u32 t = arch::thread_index();
    const auto from = reinterpret_cast<u64>(source.data()) + u64{16} * t;
    arch::copy_async(arch::shared_base() + 16 * t, from, t == 63 ? 6 : 16);
    arch::commit_copies();
    if (wait) arch::wait_copies<0>();
    if (share) arch::cta_sync();
    const u32 other = share ? 63 - t : t;
    const arch::Chunk c = arch::load_shared(arch::shared_base() + 16 * other);
    for (u32 i = 0; i < 4; ++i) {
      u32 want = source[4 * other + i];
      if (other == 63) want = i == 0 ? want : i == 1 ? want & 0xffff : 0;
      if (c.word[i] != want) throw FaultError(FaultKind::kIllegal, "wrong bytes");
    }
  };
}

TEST(Machine, CopiesOfThreadsAreThereOnceWaitedFor) {
  alignas(16) std::vector<std::uint32_t> source(256);
  for (std::uint32_t i = 0; i < 256; ++i) source[i] = 0x01010101 * i;
  const auto lab = [&](bool wait, bool share) {
    Lab l(copies(source, wait, share));
    l.memory.add("source", source.data(), 1024 - 10, Permission::kRead);
    return l;
  };
  lab(true, true).ends_well();
  lab(true, false).ends_well();
  lab(false, true).fails(FaultKind::kRace, "written by copy");
  lab(false, false).fails(FaultKind::kRace, "(still in flight)");
}

TEST(Machine, AGroupOfCopiesWaitsForTheOlderOnesAlone) {
  alignas(16) static std::uint32_t source[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  const auto two_groups = [](bool second) {
    return [second] {
      if (arch::thread_index() != 0) return;
      const auto from = reinterpret_cast<u64>(source);
      arch::copy_async(arch::shared_base(), from, 16);
      arch::commit_copies();
      arch::copy_async(arch::shared_base() + 16, from + 16, 16);
      arch::commit_copies();
      arch::wait_copies<1>();
      arch::load_shared(arch::shared_base() + (second ? 16 : 0));
    };
  };
  for (const bool second : {false, true}) {
    Lab lab(two_groups(second));
    lab.memory.add("source", source, sizeof source, Permission::kRead);
    if (second) {
      lab.fails(FaultKind::kRace, "in flight");
    } else {
      lab.ends_well();
    }
  }
}

TEST(Machine, CopiesStartOnSixteenBytesAndStayInside) {
  alignas(16) static std::uint32_t source[8] = {};
  const auto copy = [](u32 to, u32 from, u32 bytes) {
    return [=] {
      arch::copy_async(arch::shared_base() + to, reinterpret_cast<u64>(source) + from, bytes);
      arch::commit_copies();
      arch::wait_copies<0>();
    };
  };
  const auto fails = [&](u32 to, u32 from, u32 bytes, FaultKind kind) {
    Lab lab(copy(to, from, bytes), 32);
    lab.memory.add("source", source, 24, Permission::kRead);
    lab.fails(kind, "cp.async");
  };
  fails(8, 0, 16, FaultKind::kMisaligned);
  fails(0, 8, 16, FaultKind::kMisaligned);
  fails(0, 8, 0, FaultKind::kMisaligned);
  fails(0, 16, 10, FaultKind::kOutOfBounds);
  fails(0, 0, 17, FaultKind::kIllegal);
  fails(8192, 0, 16, FaultKind::kOutOfBounds);
}

// Who copied must fence after the copies are there, not before.
TEST(Machine, CopiesOfThreadsNeedAProxyFence) {
  alignas(16) static std::uint32_t source[64] = {};
  alignas(16) static std::uint32_t target[64] = {};
  const auto hand_over = [](bool fence_late) {
    return [fence_late] {
      const u32 t = arch::thread_index();
      if (t < 16)
        arch::copy_async(arch::shared_base() + 16 * t, reinterpret_cast<u64>(source) + u64{16} * t,
                         16);
      arch::commit_copies();
      if (!fence_late) arch::fence_async_shared();
      arch::wait_copies<0>();
      if (fence_late) arch::fence_async_shared();
      arch::cta_sync();
      if (t != 0) return;
      emu::store_bytes(reinterpret_cast<u64>(target), arch::shared_base(), 256);
      arch::commit_stores();
      arch::wait_stores();
    };
  };
  for (const bool fence_late : {false, true}) {
    Lab lab(hand_over(fence_late));
    lab.memory.add("source", source, sizeof source, Permission::kRead);
    lab.memory.add("target", target, sizeof target, Permission::kReadWrite);
    if (fence_late) {
      lab.ends_well();
    } else {
      lab.fails(FaultKind::kProxy, "written by copy");
    }
  }
}

TEST(Machine, ABarrierIsTestedWithoutWaiting) {
  Lab([] {
    const u32 t = arch::thread_index();
    if (t == 0) {
      arch::barrier_init(barrier(0), 1);
      arch::barrier_init_fence();
    }
    arch::cta_sync();
    if (t == 40 && arch::barrier_test(barrier(0), 0))
      throw FaultError(FaultKind::kIllegal, "completed by nobody");
    arch::cta_sync();
    if (t == 0) {
      arch::store_shared_u32(slot(0), 7);
      arch::barrier_arrive(barrier(0));
    }
    if (t == 40) {
      while (!arch::barrier_test(barrier(0), 0)) {
      }
      if (arch::load_shared_u32(slot(0)) != 7) throw FaultError(FaultKind::kIllegal, "stale");
    }
  }).ends_well();
}

TEST(Machine, ClustersMeetAndReachEachOther) {
  const auto kernel = [](bool wait_at_end) {
    return [wait_at_end] {
      const u32 t = arch::thread_index(), rank = arch::cluster_rank();
      if (t == 0) {
        arch::barrier_init(barrier(2), 64);
        arch::barrier_init_fence();
      }
      arch::cluster_sync();
      arch::barrier_arrive_cluster(arch::map_to_rank(barrier(2), rank ^ 1));
      if (wait_at_end || rank == 1) arch::barrier_wait(barrier(2), 0);
    };
  };
  Lab good(kernel(true));
  good.launch.ctas = 6;
  good.launch.cluster_size = 2;
  good.ends_well();
  // A CTA may not leave while the other still arrives at it.
  Lab bad(kernel(false));
  bad.launch.ctas = 2;
  bad.launch.cluster_size = 2;
  bad.fails(FaultKind::kIllegal, "CTA");
}

// Each thread stores 16 bytes into the other CTA, tells it, waits and reads what came.
arch::Quad words(u32 a, u32 b, u32 c, u32 d) {
  return {{std::bit_cast<float>(a), std::bit_cast<float>(b), std::bit_cast<float>(c),
           std::bit_cast<float>(d)}};
}

enum class Told { kNot, kByBarrier, kByClusterSync, kReleasesNearby, kAcquiresNearby };
Lab remote_stores(Told told) {
  Lab lab([told] {
    const u32 t = arch::thread_index(), rank = arch::cluster_rank();
    if (t == 0) {
      arch::barrier_init(barrier(2), 64);
      arch::barrier_init_fence();
    }
    arch::cluster_sync();
    const u32 value = 64 * (rank ^ 1) + (63 - t);  // of who writes what this thread reads
    arch::store_shared_cluster(arch::map_to_rank(slot(4 * t), rank ^ 1),
                               words(64 * rank + t, 1, 2, t));
    if (told == Told::kByBarrier) {
      arch::barrier_arrive_release_cluster(arch::map_to_rank(barrier(2), rank ^ 1));
      arch::barrier_wait_acquire_cluster(barrier(2), 0);
    }
    if (told == Told::kReleasesNearby || told == Told::kAcquiresNearby) {
      const u32 there = arch::map_to_rank(barrier(2), rank ^ 1);
      told == Told::kReleasesNearby ? arch::barrier_arrive_cluster(there)
                                    : arch::barrier_arrive_release_cluster(there);
      told == Told::kAcquiresNearby ? arch::barrier_wait(barrier(2), 0)
                                    : arch::barrier_wait_acquire_cluster(barrier(2), 0);
    }
    if (told == Told::kByClusterSync) arch::cluster_sync();
    const arch::Chunk c = arch::load_shared(slot(4 * (63 - t)));
    if (c.word[0] != value || c.word[1] != 1 || c.word[2] != 2 || c.word[3] != 63 - t)
      throw FaultError(FaultKind::kIllegal, "wrong bytes");
    arch::cluster_sync();
  });
  lab.launch.ctas = 4;
  lab.launch.cluster_size = 2;
  return lab;
}

TEST(Machine, StoresIntoAnotherCtaLandThere) {
  remote_stores(Told::kByBarrier).ends_well();
  remote_stores(Told::kByClusterSync).ends_well();
}

TEST(Machine, AStoreIntoAnotherCtaIsARaceForWhoDoesNotWait) {
  Lab lab = remote_stores(Told::kNot);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto f = lab.fault(seed);
    ASSERT_TRUE(f);  // a race, or where the reader came first: bytes that nobody wrote yet
    EXPECT_TRUE(f->kind == FaultKind::kRace || f->kind == FaultKind::kUninitialised) << f->text();
  }
  remote_stores(Told::kReleasesNearby).fails(FaultKind::kRace, "nothing orders the two");
  remote_stores(Told::kAcquiresNearby).fails(FaultKind::kRace, "nothing orders the two");
  // The reader comes before the writer.
  Lab reader([] {
    const u32 t = arch::thread_index(), rank = arch::cluster_rank();
    if (t == 5) arch::store_shared(slot(0), {{1, 2, 3, 4}});
    arch::cluster_sync();
    if (rank == 1 && t == 7) arch::load_shared(slot(0));
    if (rank == 0 && t == 9)
      arch::store_shared_cluster(arch::map_to_rank(slot(0), 1), words(5, 6, 7, 8));
    arch::cluster_sync();
  });
  reader.launch.ctas = reader.launch.cluster_size = 2;
  reader.fails(FaultKind::kRace, "CTA 1 data[0] + 0x0");
}

// One thread of a CTA waits for its neighbours and speaks for them; another hears it for its own.
TEST(Machine, ScopesCarryWhatIsKnownNearby) {
  const auto lab = [](bool gathers, bool spreads) {
    Lab l([=] {
      const u32 t = arch::thread_index(), rank = arch::cluster_rank();
      if (t == 0) {
        arch::barrier_init(barrier(2), 1);
        arch::barrier_init_fence();
      }
      arch::cluster_sync();
      arch::store_shared_cluster(arch::map_to_rank(slot(4 * t), rank ^ 1), words(rank, t, t, t));
      if (gathers) arch::cta_sync();
      if (t == 40) {
        arch::barrier_arrive_release_cluster(arch::map_to_rank(barrier(2), rank ^ 1));
        arch::barrier_wait_acquire_cluster(barrier(2), 0);
      }
      if (spreads) arch::cta_sync();
      if (spreads || t == 40) arch::load_shared(slot(4 * (63 - t)));
      arch::cluster_sync();
    });
    l.launch.ctas = l.launch.cluster_size = 2;
    return l;
  };
  lab(true, true).ends_well();
  lab(true, false).ends_well();
  lab(false, true).fails(FaultKind::kRace, "nothing orders the two");
}

// A box that another CTA's threads filled leaves through the copy engine.
TEST(Machine, AStoreIntoAnotherCtaNeedsAProxyFenceThere) {
  alignas(16) static std::uint32_t out[2][8];
  enum class Fence { kThere, kAtTheWriter, kBeforeTheWait };
  const auto lab = [](Fence fence) {
    Lab l([fence] {
      const u32 t = arch::thread_index(), rank = arch::cluster_rank();
      arch::cluster_sync();
      if (t < 2)
        arch::store_shared_cluster(arch::map_to_rank(slot(4 * t), rank ^ 1), words(rank, t, 5, 6));
      if (fence == Fence::kAtTheWriter || (fence == Fence::kBeforeTheWait && t == 0))
        arch::fence_async_shared();
      arch::cluster_sync();
      if (t == 0) {
        if (fence == Fence::kThere) arch::fence_async_shared();
        emu::store_bytes(reinterpret_cast<u64>(&out[rank]), slot(0), 32);
        arch::commit_stores();
        arch::wait_stores();
      }
    });
    l.launch.ctas = l.launch.cluster_size = 2;
    l.memory.add("out", out, sizeof out, Permission::kReadWrite);
    return l;
  };
  lab(Fence::kThere).ends_well();
  EXPECT_EQ(out[1][0], 0u);
  EXPECT_EQ(out[0][0], 1u);
  EXPECT_EQ(out[0][5], 1u);
  lab(Fence::kAtTheWriter).fails(FaultKind::kProxy, "written from another CTA");
  lab(Fence::kBeforeTheWait).fails(FaultKind::kProxy, "written from another CTA");
}

TEST(Machine, AStoreIntoAnotherCtaIsRefusedWhereItCannotLand) {
  const auto lab = [](std::function<void()> kernel) {
    Lab l(std::move(kernel));
    l.launch.ctas = l.launch.cluster_size = 2;
    return l;
  };
  const auto store = [](u32 address) { arch::store_shared_cluster(address, words(1, 2, 3, 4)); };
  lab([=] {
    arch::cluster_sync();
    store(arch::map_to_rank(slot(1), 1));
  }).fails(FaultKind::kMisaligned, "store of 16 bytes");
  lab([=] {
    arch::cluster_sync();
    store(arch::map_to_rank(slot(0), 1) + 8192);
  }).fails(FaultKind::kOutOfBounds);
  lab([=] {
    arch::store_shared(arch::map_to_rank(slot(0), 1), {});
  }).fails(FaultKind::kOutOfBounds, "map_to_rank");
  lab([=] {
    if (arch::thread_index() == 0) arch::barrier_init(barrier(1), 1);
    arch::cluster_sync();
    store(arch::map_to_rank(barrier(0), arch::cluster_rank() ^ 1));
  }).fails(FaultKind::kIllegal, "ordinary store of an mbarrier");
  // The other CTA need not have begun.
  lab([=] {
    store(arch::map_to_rank(slot(4 * arch::thread_index()), arch::cluster_rank() ^ 1));
    arch::cluster_sync();
  }).fails(FaultKind::kIllegal, "which need not have begun");
  // It leaves early: the store meets nobody, or nothing says that it came in time.
  const auto leaves = [=](u32 pause) {
    return [=] {
      arch::cluster_sync();
      if (arch::cluster_rank() == 1) return;
      for (u32 i = 0; i < pause; ++i) arch::warp_sync();
      store(arch::map_to_rank(slot(4 * arch::thread_index()), 1));
    };
  };
  lab(leaves(0)).fails(FaultKind::kIllegal, "CTA");
  Lab late = lab(leaves(400));
  bool found = false;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto f = late.fault(seed);
    if (!f) continue;
    EXPECT_EQ(name(f->kind), std::string("illegal instruction")) << f->text();
    found |= f->text().find("CTA 1, which has exited") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

TEST(Machine, CtasThatWaitForEachOtherThroughMemoryMove) {
  std::vector<std::uint32_t> flags(1, 0);
  const auto address = reinterpret_cast<u64>(flags.data());
  Lab lab([=] {
    if (arch::thread_index() != 0) return;
    if (arch::block_index() == 0) {
      while (emu::add_global(address, 0) != 3) {
      }
    } else {
      emu::add_global(address, 1);
    }
  });
  lab.launch.ctas = 4;
  lab.memory.add("flags", flags.data(), 4, Permission::kReadWrite);
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    flags[0] = 0;
    const auto f = lab.fault(seed);
    EXPECT_FALSE(f) << f->text();
  }
}

TEST(Machine, ProgrammaticLaunchesWaitForTheirData) {
  std::vector<std::int32_t> data(1, 5);
  const auto address = reinterpret_cast<u64>(data.data());
  const auto lab = [&](bool wait) {
    Lab l([=] {
      if (wait) emu::grid_dependency_wait();
      arch::load_global_i32(address);
    });
    l.launch.programmatic = true;
    l.memory.add("data", data.data(), 4, Permission::kRead);
    return l;
  };
  lab(true).ends_well();
  lab(false).fails(FaultKind::kRace, "grid_dependency_wait");
}

// A launch that writes slowly and one behind it that reads, in one stream.
struct TwoLaunches {
  std::vector<std::int32_t> data = std::vector<std::int32_t>(8, 0);
  bool written = false;
  int early = 0;  // CTAs of the second that began before the first was done
  std::vector<Launch> stream{2};
  GlobalMemory memory;

  explicit TwoLaunches(bool ask, bool wait) {
    const auto address = reinterpret_cast<u64>(data.data());
    memory.add("data", data.data(), data.size() * 4, Permission::kReadWrite);
    stream[0].kernel = [=, this] {
      if (ask && arch::block_index() != 1) launch_dependents();  // CTA 1 lets it begin by its end
      for (u32 i = 0; i < 40; ++i) arch::warp_sync();
      if (arch::thread_index() != 0) return;
      arch::store_global_i32(address + u64{4} * arch::block_index(), 7);
      if (arch::block_index() == 2) written = true;
    };
    stream[1].kernel = [=, this] {
      if (arch::thread_index() == 0 && !written) ++early;
      if (wait) grid_dependency_wait();
      if (arch::thread_index() != 0) return;
      for (u32 i = 0; i < 3; ++i) {
        if (arch::load_global_i32(address + u64{4} * i) != 7)
          throw FaultError(FaultKind::kIllegal, "stale");
      }
    };
    for (Launch& l : stream) {
      l.threads = 32;
      l.registers = 32;
      l.ctas = 3;
      l.resident_ctas = 6;
    }
    stream[1].programmatic = true;
  }
  std::optional<Fault> fault(std::uint64_t seed) {
    data.assign(data.size(), 0);
    written = false;
    return run(stream, memory, {.seed = seed}).fault;
  }
};

TEST(Machine, ALaunchBeginsEarlyAndWaitsForTheOneBeforeIt) {
  TwoLaunches two(true, true);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto f = two.fault(seed);
    EXPECT_FALSE(f) << f->text();
  }
  EXPECT_GT(two.early, 0);
  two.stream[1].programmatic = false;
  two.early = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_FALSE(two.fault(seed));
  EXPECT_EQ(two.early, 0);
}

TEST(Machine, ALaunchThatDoesNotWaitIsSeenUnderEverySeed) {
  TwoLaunches two(true, false);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto f = two.fault(seed);
    ASSERT_TRUE(f);
    EXPECT_NE(f->text().find("grid_dependency_wait"), std::string::npos) << f->text();
  }
}

TEST(Machine, ALaunchBeginsLateWhereNobodyLetItBegin) {
  TwoLaunches two(false, true);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) EXPECT_FALSE(two.fault(seed));
  EXPECT_EQ(two.early, 0);
}

TEST(Machine, ALaunchWaitsForOneThatNeverEnds) {
  TwoLaunches two(true, true);
  const auto body = two.stream[0].kernel;
  two.stream[0].kernel = [body] {
    if (arch::thread_index() == 0) launch_dependents();
    if (arch::block_index() == 0 && arch::thread_index() == 1) arch::named_sync(2, 32);
    body();
  };
  const auto f = two.fault(1);
  ASSERT_TRUE(f);
  EXPECT_EQ(name(f->kind), std::string(name(FaultKind::kDeadlock))) << f->text();
}

// Plain bytes through the copy engine: in, doubled by the threads, out.
TEST(Machine, BulkCopiesBringAndTakeBytes) {
  alignas(16) static std::uint32_t data[16], out[16];
  struct Change {
    u32 bytes = 64, from = 0, to = 0;
    bool wait = true, fence = true;
  };
  const auto lab = [](const Change& c) {
    Lab l([c] {
      const u32 t = arch::thread_index();
      if (t == 0) {
        arch::barrier_init(barrier(0), 1);
        arch::barrier_init_fence();
        arch::barrier_arrive_expect(barrier(0), 64);
        emu::load_bytes(slot(0), reinterpret_cast<u64>(data) + c.from, c.bytes, barrier(0));
      }
      arch::cta_sync();
      if (c.wait) arch::barrier_wait(barrier(0), 0);
      if (t < 16) arch::store_shared_u32(slot(t), 2 * arch::load_shared_u32(slot(t)));
      if (c.fence) arch::fence_async_shared();
      arch::cta_sync();
      if (t != 0) return;
      emu::store_bytes(reinterpret_cast<u64>(out) + c.to, slot(0), 64);
      arch::commit_stores();
      arch::wait_stores();
    });
    for (u32 i = 0; i < 16; ++i) data[i] = 100 + i;
    l.memory.add("data", data, sizeof data, Permission::kRead);
    l.memory.add("out", out, sizeof out, Permission::kReadWrite);
    return l;
  };
  lab({}).ends_well();
  for (u32 i = 0; i < 16; ++i) EXPECT_EQ(out[i], 200 + 2 * i);
  lab({.wait = false}).fails(FaultKind::kRace, "load");
  lab({.fence = false}).fails(FaultKind::kProxy);
  lab({.bytes = 48}).fails(FaultKind::kDeadlock, "0 of 1 arrivals and 16 bytes missing");
  lab({.bytes = 56}).fails(FaultKind::kMisaligned, "bulk copy of 56 bytes");
  lab({.from = 8}).fails(FaultKind::kMisaligned);
  lab({.from = 16}).fails(FaultKind::kOutOfBounds, "data");
  lab({.to = 16}).fails(FaultKind::kOutOfBounds, "out");
}

// Who spins keeps the machine busy: the report says what the others wait for.
TEST(Machine, ARunWithoutEndIsReported) {
  Lab lab([] {
    const u32 t = arch::thread_index();
    if (t == 0) {
      arch::barrier_init(barrier(0), 1);
      while (!arch::barrier_test(barrier(0), 0)) {
      }
    }
    arch::named_sync(1, 64);
  });
  const auto f = run(lab.launch, lab.memory, {.seed = 1, .step_limit = 2000}).fault;
  ASSERT_TRUE(f);
  EXPECT_EQ(name(f->kind), std::string("no end"));
  EXPECT_NE(f->text().find("named barrier 1: 63 of 64 threads have come"), std::string::npos)
      << f->text();
}

TEST(Machine, RefusesLaunchesNoGpuWouldTake) {
  Lab lab([] {});
  lab.launch.threads = 48;
  EXPECT_THROW(lab.fault(), FaultError);
  Lab big([] {}, 512);
  big.launch.registers = 168;
  EXPECT_THROW(big.fault(), FaultError);
}

}  // namespace
}  // namespace wgrad::emu
