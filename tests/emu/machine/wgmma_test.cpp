// Every form of wgmma that the machine knows: both majors, all swizzles, A from shared memory or
// from registers. The layouts are written down here a second time, element by element, from the PTX
// ISA ("Shared Memory Matrix Layout") and CUTLASS' canonical layouts.
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/machine.hpp"
#include "wgrad/arch/arch.cuh"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

constexpr u32 kM = 64, kN = 64, kK = 16;
constexpr u32 kTileBytes = 8192;  // room for either operand in any layout

/// How an operand lies: bytes of a swizzled row (16: no swizzle), and which extent is contiguous.
struct Form {
  u32 row;
  bool mn_major;

  // Byte strides that the descriptor holds. Unlike each other where the layout uses both.
  u32 leading() const {
    if (row == 16) return 2048;
    return mn_major ? 4096 / (128 / row) : 0;
  }
  u32 stride() const { return row == 16 ? 128 : 8 * row; }

  u32 offset(u32 mn, u32 k) const {
    if (row == 16) {  // 8 x 16-byte core matrices
      const u32 inside = mn_major ? k % 8 * 16 + mn % 8 * 2 : mn % 8 * 16 + k % 8 * 2;
      return mn / 8 * stride() + k / 8 * leading() + inside;
    }
    const u32 wide = row / 2;  // elements
    const u32 plain = mn_major
                          ? mn / wide * leading() + k / 8 * stride() + k % 8 * row + mn % wide * 2
                          : mn / 8 * stride() + mn % 8 * row + k * 2;
    // 128: bits 4-6 with bits 7-9; 64: bits 4-5 with 7-8; 32: bit 4 with bit 7.
    return plain ^ ((plain >> 7 & (row / 16 - 1)) << 4);
  }
  u64 descriptor(u32 address) const {
    const u64 mode = row == 128 ? 1 : row == 64 ? 2 : row == 32 ? 3 : 0;
    return mode << 62 | u64{stride() >> 4} << 32 | u64{leading() >> 4} << 16 | address >> 4;
  }
};

float a_value(u32 i, u32 k) {
  return static_cast<float>(static_cast<int>((i * 5 + k * 3) % 13) - 6);
}
float b_value(u32 j, u32 k) {
  return static_cast<float>(static_cast<int>((j * 7 + k) % 11) - 5);
}
float start_value(u32 i, u32 j) {
  return static_cast<float>(i) - 2.0F * static_cast<float>(j);
}

u32 pair(float low, float high) {
  return float_to_bf16(low) | u32{float_to_bf16(high)} << 16;
}

struct Kernel {
  Form a, b;
  bool from_registers;
  std::vector<float>& out;

  template <typename Value>
  void place(u32 tile, const Form& form, u32 extent, const Value& value) const {
    for (u32 e = arch::thread_index(); e < extent * kK; e += 128) {
      arch::store_shared_u16(tile + form.offset(e / kK, e % kK),
                             float_to_bf16(value(e / kK, e % kK)));
    }
  }

  void operator()() const {
    const u32 tile_a = arch::shared_base(), tile_b = tile_a + kTileBytes, t = arch::thread_index();
    place(tile_a, a, kM, a_value);
    place(tile_b, b, kN, b_value);
    arch::fence_async_shared();
    arch::cta_sync();
    // Rows and columns of this thread's fragments (PTX, "Register Fragments").
    const u32 row = t / 32 * 16 + t % 32 / 4, column = t % 4 * 2;
    u32 fragments[4];
    for (u32 w = 0; w < 4; ++w) {
      const u32 i = row + w % 2 * 8, k = column + w / 2 * 8;
      fragments[w] = pair(a_value(i, k), a_value(i, k + 1));
    }
    float d[kN / 2];
    const auto at = [&](u32 i) {
      return std::pair(row + i / 2 % 2 * 8, i / 4 * 8 + column + i % 2);
    };
    for (u32 i = 0; i < kN / 2; ++i) d[i] = start_value(at(i).first, at(i).second);
    arch::wgmma_fence();
    wgmma(d, kN, from_registers ? 0 : a.descriptor(tile_a), from_registers ? fragments : nullptr,
          b.descriptor(tile_b), true, false, a.mn_major, b.mn_major);
    arch::wgmma_commit();
    arch::wgmma_wait<0>();
    for (u32 i = 0; i < kN / 2; ++i) out[at(i).first * kN + at(i).second] = d[i];
  }
};

std::string wrong(const Form& a, const Form& b, bool from_registers, std::uint64_t seed) {
  std::vector<float> out(std::size_t{kM} * kN, -1.0F);
  Launch launch;
  launch.kernel = Kernel{a, b, from_registers, out};
  launch.shared_bytes = 2 * kTileBytes;
  GlobalMemory memory;
  const auto outcome = run(launch, memory, {.seed = seed});
  if (outcome.fault) return outcome.fault->text();
  for (u32 i = 0; i < kM; ++i) {
    for (u32 j = 0; j < kN; ++j) {
      float sum = start_value(i, j);
      for (u32 k = 0; k < kK; ++k) sum += a_value(i, k) * b_value(j, k);
      if (out[i * kN + j] != sum) return "element " + std::to_string(i) + ", " + std::to_string(j);
    }
  }
  return "";
}

class Wgmma : public testing::TestWithParam<std::tuple<u32, bool, u32, bool>> {};

TEST_P(Wgmma, MultipliesWhatTheDescriptorsName) {
  const auto [row_a, mn_a, row_b, mn_b] = GetParam();
  EXPECT_EQ(wrong({row_a, mn_a}, {row_b, mn_b}, false, 1), "");
}

INSTANTIATE_TEST_SUITE_P(Forms, Wgmma,
                         testing::Combine(testing::Values(16, 32, 64, 128), testing::Bool(),
                                          testing::Values(16, 32, 64, 128), testing::Bool()));

TEST(WgmmaFromRegisters, MultipliesTheFragments) {
  for (const u32 row : {16U, 32U, 64U, 128U}) {
    for (const bool mn_major : {false, true}) {
      EXPECT_EQ(wrong({128, false}, {row, mn_major}, true, row), "");
    }
  }
}

}  // namespace
}  // namespace wgrad::emu
