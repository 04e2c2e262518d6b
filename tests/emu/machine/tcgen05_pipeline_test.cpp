// A small warp-specialised product on tcgen05, by one CTA, by a pair or by each of two pairs of a
// cluster, with two accumulators in tensor memory: right, and then with one thing missing at a
// time. Each omission must be seen under every seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/machine.hpp"
#include "emu/memory/tensor_map.hpp"
#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

constexpr u32 kM = 128, kN = 64;  // of a CTA
constexpr u32 kDepth = 64, kBlocks = 3, kTiles = 3, kStages = 2;
constexpr u32 kBoxBytes = kDepth * 128, kABytes = 2 * kBoxBytes, kBBytes = kBoxBytes;
constexpr u32 kThreads = 192;  // warp 0 loads, warp 1 multiplies, warps 2 to 5 store

enum class Omit {
  kNothing,
  kFullWait,
  kEmptyWait,
  kExpect,
  kCommitStage,         // a stage is never handed back
  kCommitAccumulator,   // nor an accumulator handed on
  kAccumulatorWait,     // the epilogue does not wait for the accumulator
  kFenceAfterWait,      // nor fence after it has
  kWaitLoads,           // registers are read in flight, the accumulator handed back
  kFenceBeforeRelease,  // the accumulator is handed back without a fence
  kReleaseWait,         // the accumulator is overwritten without a wait
  kFenceAfterRelease,   // or without a fence after it
  kFirstOverwrites,     // a tile's first multiplication adds
  kFree,                // tensor memory is not freed
  kDrain,               // commits are not waited for
  kAllocBarrier,        // the address is read before all know it
  kInitFence,           // barriers are not announced
  kBarrierBeforeAlloc,  // pair: the peer need not run
  kBarrierBeforeFree,   // pair: the peer may still be at work
  kCommitToPeer,        // pair: only the leader's stages are handed back
  kExpectBoth,          // pair: only the leader's bytes are announced
  kOwnMask,             // pairs: commits go to the cluster's first pair
};

template <u32 kCtas>
struct Product {
  static constexpr u32 kRows = kM * kCtas, kColumns = kN * kCtas,
                       kTokens = kTiles * kBlocks * kDepth;
  std::vector<std::uint16_t> a, b;  // (token, row)
  std::vector<float> out;           // tile, row, column
  shared::TensorMap map_a{}, map_b{};

  Product() : a(kTokens * kRows), b(kTokens * kColumns), out(kTiles * kRows * kColumns, -1.0F) {
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = float_to_bf16(static_cast<float>(static_cast<int>(i * 7 % 9) - 4));
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = float_to_bf16(static_cast<float>(static_cast<int>(i * 5 % 7) - 3));
    map_a = map(a, kRows);
    map_b = map(b, kColumns);
  }
  static shared::TensorMap map(const std::vector<std::uint16_t>& data, u32 extent) {
    TensorMapFields f;
    f.rank = 2;
    f.dims = {extent, kTokens, 0, 0, 0};
    f.strides = {extent * 2, 0, 0, 0};
    f.box = {64, kDepth, 0, 0, 0};
    f.base = reinterpret_cast<u64>(data.data());
    return encode(f);
  }
  bool is_right() const {
    for (u32 tile = 0; tile < kTiles; ++tile) {
      for (u32 i = 0; i < kRows; ++i) {
        for (u32 j = 0; j < kColumns; ++j) {
          float sum = 0;
          for (u32 k = tile * kBlocks * kDepth; k < (tile + 1) * kBlocks * kDepth; ++k)
            sum += bf16_to_float(a[k * kRows + i]) * bf16_to_float(b[k * kColumns + j]);
          if (out[(tile * kRows + i) * kColumns + j] != sum) return false;
        }
      }
    }
    return true;
  }
};

template <u32 kCtas>
struct Kernel {
  const std::vector<Product<kCtas>>& products;  // one for each CTA or pair
  Omit omit;
  static constexpr u32 kColumns = kN * kCtas;

  bool keep(Omit what) const { return omit != what; }
  static u32 a(u32 s) { return arch::shared_base() + s * kABytes; }
  static u32 b(u32 s) { return arch::shared_base() + kStages * kABytes + s * kBBytes; }
  static u32 barrier(u32 i) { return arch::shared_base() + kStages * (kABytes + kBBytes) + 8 * i; }
  static u32 full(u32 s) { return barrier(s); }
  static u32 empty(u32 s) { return barrier(kStages + s); }
  static u32 ready(u32 i) { return barrier(2 * kStages + i); }        // accumulator i is complete
  static u32 drained(u32 i) { return barrier(2 * kStages + 2 + i); }  // and has been read
  static u32 slot() { return barrier(2 * kStages + 4); }
  static u32 leader() { return arch::cluster_rank() / kCtas * kCtas; }
  static u32 leaders(u32 address) {
    return kCtas == 1 ? address : arch::map_to_rank(address, leader());
  }
  static u32 rank() { return arch::cluster_rank() - leader(); }  // in the pair
  const Product<kCtas>& mine() const { return products[arch::block_index() / kCtas]; }

  void load(u32 target, const TensorMap& map, u32 s, u32 column, u32 token) const {
    const arch::Coord x{{i32(column), i32(token), 0, 0, 0}};
    if constexpr (kCtas == 1) {
      arch::load_box<2>(target, map, full(s), x);
    } else {
      arch::load_box_of_pair<2>(target, map, leaders(full(s)), x);
    }
  }

  void produce() const {
    if (arch::lane_index() != 0) return;
    const Product<kCtas>& p = mine();
    for (u32 k = 0; k < kTiles * kBlocks; ++k) {
      const u32 s = k % kStages, parity = k / kStages % 2;
      if (keep(Omit::kEmptyWait)) arch::barrier_wait(empty(s), parity ^ 1);
      const u32 bytes = (kABytes + kBBytes) * (keep(Omit::kExpectBoth) ? kCtas : 1);
      if (rank() == 0 && keep(Omit::kExpect)) arch::barrier_arrive_expect(full(s), bytes);
      if (rank() == 0 && !keep(Omit::kExpect)) arch::barrier_arrive(full(s));
      for (u32 box = 0; box < 2; ++box)
        load(a(s) + box * kBoxBytes, p.map_a, s, rank() * kM + box * 64, k * kDepth);
      load(b(s), p.map_b, s, rank() * kN, k * kDepth);
    }
    if (!keep(Omit::kDrain)) return;
    for (u32 k = kTiles * kBlocks; k < kTiles * kBlocks + kStages; ++k)
      arch::barrier_wait(empty(k % kStages), (k / kStages + 1) % 2);
  }

  void commit(u32 address) const {
    if constexpr (kCtas == 1) {
      arch::tcgen05_commit<1>(address);
    } else {
      const u32 first = keep(Omit::kOwnMask) ? leader() : 0;
      arch::tcgen05_commit_multicast<2>(
          address, static_cast<u16>((keep(Omit::kCommitToPeer) ? 3 : 1) << first));
    }
  }

  void multiply(u32 base) const {
    if (rank() != 0 || !arch::elect_one()) return;
    constexpr u32 kInstruction =
        f16_instruction(InputType::kBf16, {kM * kCtas, kColumns}, {true, true});
    for (u32 tile = 0; tile < kTiles; ++tile) {
      const u32 which = tile % 2, d = base + which * kColumns;
      if (keep(Omit::kReleaseWait)) arch::barrier_wait(drained(which), tile / 2 % 2 ^ 1);
      if (keep(Omit::kFenceAfterRelease)) arch::tcgen05_fence_after_sync();
      for (u32 block = 0; block < kBlocks; ++block) {
        const u32 k = tile * kBlocks + block, s = k % kStages;
        if (keep(Omit::kFullWait)) arch::barrier_wait(full(s), k / kStages % 2);
        for (u32 step = 0; step < kDepth / 16; ++step) {
          const bool first = block + step == 0 && keep(Omit::kFirstOverwrites);
          arch::tcgen05_multiply<kCtas>(d,
                                        matrix_descriptor(mn_major_128(kDepth), a(s) + step * 2048),
                                        matrix_descriptor(mn_major_128(kDepth), b(s) + step * 2048),
                                        kInstruction, first ? 0 : 1);
        }
        if (keep(Omit::kCommitStage)) commit(empty(s));
      }
      if (keep(Omit::kCommitAccumulator)) commit(ready(which));
    }
  }

  void store(u32 base) const {
    const Product<kCtas>& p = mine();
    const u32 quarter = arch::thread_index() / 32 % 4 * 32;
    for (u32 tile = 0; tile < kTiles; ++tile) {
      const u32 which = tile % 2;
      if (keep(Omit::kAccumulatorWait)) arch::barrier_wait(ready(which), tile / 2 % 2);
      if (keep(Omit::kFenceAfterWait)) arch::tcgen05_fence_after_sync();
      float v[kCtas][64];
      for (u32 c = 0; c < kCtas; ++c)
        arch::tensor_memory_load(v[c], (quarter << 16) + base + which * kColumns + c * 64);
      if (keep(Omit::kWaitLoads)) arch::tensor_memory_wait_loads();
      for (u32 c = 0; c < kCtas; ++c) arch::tensor_memory_pin(v[c]);
      const u32 row = tile * p.kRows + rank() * kM + quarter + arch::lane_index();
      for (u32 j = 0; j < kColumns; ++j) {
        arch::store_output_f32(reinterpret_cast<u64>(&p.out[row * kColumns + j]),
                               v[j / 64][j % 64]);
      }
      if (keep(Omit::kFenceBeforeRelease)) arch::tcgen05_fence_before_sync();
      arch::barrier_arrive_cluster(leaders(drained(which)));
      if (!keep(Omit::kWaitLoads)) arch::tensor_memory_wait_loads();  // while v lives
    }
  }

  static void everybody() { kCtas == 1 ? arch::cta_sync() : arch::cluster_sync(); }

  void operator()() const {
    const u32 warp = arch::thread_index() / 32;
    if (arch::thread_index() == 0) {
      for (u32 s = 0; s < kStages; ++s) {
        arch::barrier_init(full(s), 1);
        arch::barrier_init(empty(s), 1);
      }
      for (u32 i = 0; i < 2; ++i) {
        arch::barrier_init(ready(i), 1);
        arch::barrier_init(drained(i), 128 * kCtas);
      }
      if (keep(Omit::kInitFence)) arch::barrier_init_fence();
    }
    if (keep(Omit::kBarrierBeforeAlloc)) everybody();
    if (warp == 1) {
      arch::tensor_memory_alloc<kCtas>(slot(), 2 * kColumns);
      arch::tensor_memory_relinquish<kCtas>();
    }
    if (keep(Omit::kAllocBarrier)) everybody();
    const u32 base = arch::load_shared_u32(slot());
    if (warp == 0) produce();
    if (warp == 1) multiply(base);
    if (warp >= 2) store(base);
    keep(Omit::kBarrierBeforeFree) ? everybody() : arch::cta_sync();
    if (warp == 1 && keep(Omit::kFree)) arch::tensor_memory_free<kCtas>(base, 2 * kColumns);
  }
};

struct Result {
  std::optional<Fault> fault;
  bool right = false;
};

template <u32 kCtas>
Result run_product(u32 ctas, Omit omit, std::uint64_t seed, Timing timing) {
  const std::vector<Product<kCtas>> products(ctas / kCtas);
  GlobalMemory memory;
  for (const Product<kCtas>& p : products) {
    memory.add("A", p.a.data(), p.a.size() * 2, Permission::kRead);
    memory.add("B", p.b.data(), p.b.size() * 2, Permission::kRead);
    memory.add("out", p.out.data(), p.out.size() * 4, Permission::kReadWrite);
  }
  Launch launch;
  launch.kernel = Kernel<kCtas>{products, omit};
  launch.ctas = launch.cluster_size = ctas;
  launch.threads = kThreads;
  launch.shared_bytes = kStages * (kABytes + kBBytes) + 128;
  const u32 barriers = kStages * (kABytes + kBBytes);
  launch.regions = {{"a stage", 0, kABytes, kStages},
                    {"b stage", kStages * kABytes, kBBytes, kStages},
                    {"full", barriers, 8, kStages},
                    {"empty", barriers + 8 * kStages, 8, kStages},
                    {"ready", barriers + 16 * kStages, 8, 2},
                    {"drained", barriers + 16 * kStages + 16, 8, 2},
                    {"slot", barriers + 16 * kStages + 32, 8, 1}};
  Result result{run(launch, memory, {.seed = seed, .timing = timing}).fault};
  result.right = std::all_of(products.begin(), products.end(),
                             [](const Product<kCtas>& p) { return p.is_right(); });
  return result;
}

// 1: one CTA. 2: a pair. 4: two pairs.
Result run_product(u32 ctas, Omit omit, std::uint64_t seed, Timing timing = Timing::kMixed) {
  return ctas == 1 ? run_product<1>(1, omit, seed, timing)
                   : run_product<2>(ctas, omit, seed, timing);
}

TEST(Tcgen05Pipeline, IsRightUnderAnySchedule) {
  for (const u32 ctas : {1U, 2U, 4U}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      for (const Timing timing : {Timing::kMixed, Timing::kEager, Timing::kLazy, Timing::kModel}) {
        const Result r = run_product(ctas, Omit::kNothing, seed, timing);
        EXPECT_FALSE(r.fault) << r.fault->text();
        EXPECT_TRUE(r.right) << ctas;
      }
    }
  }
}

struct Omission {
  const char* name;
  Omit omit;
  FaultKind kind;
  const char* words;  // of the report
};

class Tcgen05Omission : public testing::TestWithParam<std::tuple<Omission, u32>> {};

TEST_P(Tcgen05Omission, IsSeenUnderEverySeed) {
  const auto& [o, ctas] = GetParam();
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Result r = run_product(ctas, o.omit, seed);
    ASSERT_TRUE(r.fault) << "seed " << seed << (r.right ? ": right result" : ": wrong result");
    EXPECT_EQ(std::string(name(r.fault->kind)), name(o.kind)) << r.fault->text();
    EXPECT_NE(r.fault->text().find(o.words), std::string::npos) << r.fault->text();
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Omission, u32>>& each) {
  return std::string(std::get<0>(each.param).name) + (std::get<1>(each.param) == 1 ? "OfOne"
                                                      : std::get<1>(each.param) == 2
                                                          ? "OfPair"
                                                          : "OfTwoPairs");
}

INSTANTIATE_TEST_SUITE_P(
    All, Tcgen05Omission,
    testing::Combine(
        testing::Values(
            Omission{"CommitStage", Omit::kCommitStage, FaultKind::kDeadlock, "empty["},
            Omission{"CommitAccumulator", Omit::kCommitAccumulator, FaultKind::kDeadlock, "ready["},
            Omission{"FenceAfterWait", Omit::kFenceAfterWait, FaultKind::kFence,
                     "without tcgen05_fence_after_sync after the barrier"},
            Omission{"FenceBeforeRelease", Omit::kFenceBeforeRelease, FaultKind::kFence,
                     "without tcgen05_fence_before_sync before the barrier"},
            Omission{"ReleaseWait", Omit::kReleaseWait, FaultKind::kRace, "tensor_memory_load"},
            Omission{"FenceAfterRelease", Omit::kFenceAfterRelease, FaultKind::kFence,
                     "without tcgen05_fence_after_sync after the barrier"},
            Omission{"WaitLoads", Omit::kWaitLoads, FaultKind::kRace,
                     "without tensor_memory_wait_loads"},
            Omission{"FirstOverwrites", Omit::kFirstOverwrites, FaultKind::kUninitialised,
                     "tensor memory of CTA"},
            Omission{"Free", Omit::kFree, FaultKind::kIllegal, "tensor memory that was not freed"},
            Omission{"Drain", Omit::kDrain, FaultKind::kIllegal,
                     "a tcgen05_commit that nobody waited for, to mbarrier"},
            Omission{"InitFence", Omit::kInitFence, FaultKind::kProxy, "barrier_init_fence"}),
        testing::Values(1U, 2U)),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Pairs, Tcgen05Omission,
    testing::Combine(testing::Values(Omission{"BarrierBeforeAlloc", Omit::kBarrierBeforeAlloc,
                                              FaultKind::kIllegal, "need not have begun"},
                                     Omission{"BarrierBeforeFree", Omit::kBarrierBeforeFree,
                                              FaultKind::kRace, "freed"},
                                     Omission{"CommitToPeer", Omit::kCommitToPeer,
                                              FaultKind::kDeadlock, "empty["}),
                     testing::Values(2U)),
    name_of);

// These break in several ways; what matters is that none ends well.
TEST(Tcgen05Omissions, NeverPassUnseen) {
  const auto seen = [](u32 ctas, Omit omit) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_TRUE(run_product(ctas, omit, seed).fault)
          << "omission " << static_cast<int>(omit) << " seed " << seed << " CTAs " << ctas;
    }
  };
  for (const Omit omit : {Omit::kFullWait, Omit::kEmptyWait, Omit::kExpect, Omit::kAllocBarrier,
                          Omit::kAccumulatorWait}) {
    seen(1, omit);
    seen(2, omit);
  }
  seen(2, Omit::kExpectBoth);
  seen(4, Omit::kOwnMask);
}

}  // namespace
}  // namespace wgrad::emu
