// A small warp-specialised matrix product, right and then with one thing missing at a time: each
// omission must be seen.
#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/machine.hpp"
#include "emu/memory/tensor_map.hpp"
#include "wgrad/arch/arch.cuh"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

constexpr u32 kN = 64, kStages = 2, kStageBytes = 8192;  // 64 x 64 bf16 a stage and operand
constexpr u32 kBlocks = 5;

enum class Omit {
  kNothing,
  kFullWait,     // the consumer does not wait for the stage
  kEmptyWait,    // the producer does not wait for the stage to fall free
  kExpect,       // bytes are not announced
  kRelease,      // the stage is not handed back
  kWgmmaWait,    // the stage is handed back while wgmma may read it
  kWgmmaFence,   // registers become accumulators without wgmma.fence
  kWgmmaCommit,  // the group is never closed
  kLastWait,     // accumulators are read in flight
  kProxyFence,   // the output box is stored without fence.proxy.async
  kBoxBarrier,   // the output box is stored before all threads wrote it
  kStoreWait,    // the box is overwritten while the copy engine reads it
  kExitWait,     // the CTA leaves while the copy engine reads its memory
  kInitFence,    // barriers are not announced to the copy engine
  kInitBarrier,  // barriers are used before all know them
};

struct Product {
  std::vector<std::uint16_t> a, b;  // (k, 64) each, MN-major
  std::vector<float> out;           // 64 x 64, twice: the box is written and stored two times
  shared::TensorMap map_a{}, map_b{}, map_out{};

  Product() : a(kBlocks * 64 * 64), b(a.size()), out(2 * 64 * kN, -1.0f) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = float_to_bf16(static_cast<float>(static_cast<int>(i * 7 % 9) - 4));
      b[i] = float_to_bf16(static_cast<float>(static_cast<int>(i * 5 % 7) - 3));
    }
    TensorMapFields f;
    f.rank = 2;
    f.dims = {64, kBlocks * 64, 0, 0, 0};
    f.strides = {128, 0, 0, 0};
    f.box = {64, 64, 0, 0, 0};
    f.base = reinterpret_cast<u64>(a.data());
    map_a = encode(f);
    f.base = reinterpret_cast<u64>(b.data());
    map_b = encode(f);
    TensorMapFields o;
    o.rank = 4;
    o.element = Element::kFp32;
    o.dims = {kN, 2 * 64, 1, 1, 0};
    o.strides = {kN * 4, 16, 16, 0};
    o.box = {32, 64, 1, 1, 0};
    o.base = reinterpret_cast<u64>(out.data());
    map_out = encode(o);
  }
  float expected(u32 i, u32 j) const {
    float sum = 0;
    for (u32 k = 0; k < kBlocks * 64; ++k)
      sum += bf16_to_float(a[k * 64 + i]) * bf16_to_float(b[k * 64 + j]);
    return sum;
  }
};

struct Kernel {
  const Product& p;
  Omit omit;

  bool keep(Omit what) const { return omit != what; }
  static u32 a(u32 s) { return arch::shared_base() + s * kStageBytes; }
  static u32 b(u32 s) { return arch::shared_base() + (kStages + s) * kStageBytes; }
  static u32 box() { return arch::shared_base() + 2 * kStages * kStageBytes; }
  static u32 full(u32 s) { return box() + 8192 + 8 * s; }
  static u32 empty(u32 s) { return box() + 8192 + 8 * (kStages + s); }

  void produce() const {
    if (arch::thread_index() != 0) return;
    for (u32 k = 0; k < kBlocks; ++k) {
      const u32 s = k % kStages, parity = k / kStages % 2;
      if (keep(Omit::kEmptyWait)) arch::barrier_wait(empty(s), parity ^ 1);
      if (keep(Omit::kExpect)) {
        arch::barrier_arrive_expect(full(s), 2 * kStageBytes);
      } else {
        arch::barrier_arrive(full(s));
      }
      arch::load_box<2>(a(s), p.map_a, full(s), {{0, i32(k) * 64, 0, 0, 0}});
      arch::load_box<2>(b(s), p.map_b, full(s), {{0, i32(k) * 64, 0, 0, 0}});
    }
  }

  void multiply(float (&d)[kN / 2]) const {
    const u64 form = u64{1} << 62 | u64{1024 >> 4} << 32 | u64{8192 >> 4} << 16;
    for (u32 k = 0; k < kBlocks; ++k) {
      const u32 s = k % kStages;
      if (keep(Omit::kFullWait)) arch::barrier_wait(full(s), k / kStages % 2);
      if (keep(Omit::kWgmmaFence)) arch::wgmma_fence();
      for (u32 step = 0; step < 4; ++step) {
        const u64 desc_a = form | (a(s) + step * 2048) >> 4,
                  desc_b = form | (b(s) + step * 2048) >> 4;
        arch::wgmma_k16<InputType::kBf16, 1, 1>(d, desc_a, desc_b, k + step > 0 ? 1 : 0);
      }
      if (keep(Omit::kWgmmaCommit)) arch::wgmma_commit();
      if (keep(Omit::kWgmmaWait) || k + 1 == kBlocks) {
        if (keep(Omit::kLastWait) || k + 1 < kBlocks) arch::wgmma_wait<0>();
      }
      if (arch::lane_index() == 0 && keep(Omit::kRelease)) arch::barrier_arrive(empty(s));
    }
  }

  // Columns 0..31 of the accumulator, to rows 64 * copy of the output.
  void store(const float (&d)[kN / 2], i32 copy, i32 half) const {
    const u32 t = arch::thread_index() - 128, lane = t % 32, row = t / 32 * 16 + lane / 4;
    const bool leader = t == 0;
    if (leader && keep(Omit::kStoreWait)) arch::wait_stores_read<0>();
    arch::named_sync(1, 128);
    for (u32 j = 0; j < 4; ++j) {
      for (u32 h = 0; h < 2; ++h) {
        const u32 at = box() + (row + 8 * h) * 128, chunk = 2 * j + lane % 4 / 2;
        arch::store_shared_pair(at + ((chunk ^ (row % 8)) << 4) + lane % 2 * 8,
                                d[u32(half) * 16 + 4 * j + 2 * h],
                                d[u32(half) * 16 + 4 * j + 2 * h + 1]);
      }
    }
    if (keep(Omit::kProxyFence)) arch::fence_async_shared();
    if (keep(Omit::kBoxBarrier)) arch::named_sync(1, 128);
    if (!leader) return;
    arch::store_box(p.map_out, box(), {{half * 32, copy * 64, 0, 0, 0}});
    arch::commit_stores();
  }

  void operator()() const {
    if (arch::thread_index() == 0) {
      for (u32 s = 0; s < kStages; ++s) {
        arch::barrier_init(full(s), 1);
        arch::barrier_init(empty(s), 4);
      }
      if (keep(Omit::kInitFence)) arch::barrier_init_fence();
    }
    if (keep(Omit::kInitBarrier)) arch::cta_sync();
    if (arch::thread_index() < 128) return produce();
    float d[kN / 2];
    multiply(d);
    for (i32 copy = 0; copy < 2; ++copy) {
      for (i32 half = 0; half < 2; ++half) store(d, copy, half);
    }
    if (arch::thread_index() == 128 && keep(Omit::kExitWait)) arch::wait_stores();
  }
};

struct Result {
  std::optional<Fault> fault;
  bool right = true;
};

Result run_product(Omit omit, std::uint64_t seed, Timing timing = Timing::kMixed) {
  Product p;
  GlobalMemory memory;
  memory.add("A", p.a.data(), p.a.size() * 2, Permission::kRead);
  memory.add("B", p.b.data(), p.b.size() * 2, Permission::kRead);
  memory.add("out", p.out.data(), p.out.size() * 4, Permission::kReadWrite);
  Launch launch;
  launch.kernel = Kernel{p, omit};
  launch.threads = 256;
  launch.shared_bytes = 2 * kStages * kStageBytes + 8192 + 64;
  launch.regions = {{"a stage", 0, kStageBytes, kStages},
                    {"b stage", kStages * kStageBytes, kStageBytes, kStages},
                    {"box", 2 * kStages * kStageBytes, 8192, 1},
                    {"full", 2 * kStages * kStageBytes + 8192, 8, kStages},
                    {"empty", 2 * kStages * kStageBytes + 8192 + 8 * kStages, 8, kStages}};
  Result result{run(launch, memory, {.seed = seed, .timing = timing}).fault};
  for (u32 i = 0; i < 64; ++i) {
    for (u32 j = 0; j < kN; ++j) {
      const float want = p.expected(i, j);
      result.right = result.right && p.out[i * kN + j] == want && p.out[(64 + i) * kN + j] == want;
    }
  }
  return result;
}

TEST(Pipeline, IsRightUnderAnySchedule) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const Timing timing : {Timing::kMixed, Timing::kEager, Timing::kLazy}) {
      const Result r = run_product(Omit::kNothing, seed, timing);
      EXPECT_FALSE(r.fault) << r.fault->text();
      EXPECT_TRUE(r.right);
    }
  }
}

TEST(Pipeline, TheSameSeedIsTheSameRun) {
  const auto first = run_product(Omit::kEmptyWait, 4).fault;
  const auto again = run_product(Omit::kEmptyWait, 4).fault;
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->text(), again->text());
}

struct Omission {
  const char* name;
  Omit omit;
  FaultKind kind;
  const char* words;  // of the report
};

class PipelineOmission : public testing::TestWithParam<Omission> {};

TEST_P(PipelineOmission, IsSeenUnderEverySeed) {
  const Omission& o = GetParam();
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Result r = run_product(o.omit, seed);
    ASSERT_TRUE(r.fault) << "seed " << seed << (r.right ? ": right result" : ": wrong result");
    EXPECT_EQ(std::string(name(r.fault->kind)), name(o.kind)) << r.fault->text();
    EXPECT_NE(r.fault->text().find(o.words), std::string::npos) << r.fault->text();
  }
}

// What a report must say to be of use: the bytes' place and stage, both accesses; the barrier and
// its stage, phase, and what is missing.
TEST(PipelineReport, NamesTheStageAndBothSides) {
  const std::string wgmma = "read by wgmma #\\d+ of CTA 0 warp \\d lane \\d+";
  const std::string load = "by load #\\d+ of CTA 0 warp 0 lane 0";
  const std::regex both("CTA 0 [ab] stage\\[[01]\\] \\+ 0x[0-9a-f]+: (" + wgmma +
                        "[^,]*, overwritten " + load + "|written " + load + "[^,]*, " + wgmma +
                        ")");
  const Result race = run_product(Omit::kWgmmaWait, 1);
  ASSERT_TRUE(race.fault);
  EXPECT_TRUE(std::regex_search(race.fault->text(), both)) << race.fault->text();
  const Result deadlock = run_product(Omit::kRelease, 1);
  ASSERT_TRUE(deadlock.fault);
  EXPECT_TRUE(std::regex_search(
      deadlock.fault->text(),
      std::regex(
          "mbarrier CTA 0 empty\\[[01]\\] \\+ 0x0 parity 0: it is in phase 0, 4 of 4 arrivals "
          "and 0 bytes missing\n    CTA 0 warp 0 \\(1 threads\\)")))
      << deadlock.fault->text();
}

INSTANTIATE_TEST_SUITE_P(
    All, PipelineOmission,
    testing::Values(
        Omission{"Release", Omit::kRelease, FaultKind::kDeadlock, "4 of 4 arrivals"},
        Omission{"WgmmaWait", Omit::kWgmmaWait, FaultKind::kRace, "read by wgmma"},
        Omission{"WgmmaFence", Omit::kWgmmaFence, FaultKind::kRace, "wgmma_fence"},
        Omission{"LastWait", Omit::kLastWait, FaultKind::kIllegal, "not waited for"},
        Omission{"ProxyFence", Omit::kProxyFence, FaultKind::kProxy, "fence_async_shared"},
        Omission{"StoreWait", Omit::kStoreWait, FaultKind::kRace, "read by store"},
        Omission{"ExitWait", Omit::kExitWait, FaultKind::kIllegal, "may still read"},
        Omission{"InitFence", Omit::kInitFence, FaultKind::kProxy, "barrier_init_fence"}),
    [](const auto& each) { return std::string(each.param.name); });

// These break in several ways; what matters is that none ends well.
TEST(PipelineOmissions, NeverPassUnseen) {
  for (const Omit omit : {Omit::kFullWait, Omit::kEmptyWait, Omit::kExpect, Omit::kWgmmaCommit,
                          Omit::kInitBarrier, Omit::kBoxBarrier}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      EXPECT_TRUE(run_product(omit, seed).fault)
          << "omission " << static_cast<int>(omit) << " seed " << seed;
    }
  }
}

}  // namespace
}  // namespace wgrad::emu
