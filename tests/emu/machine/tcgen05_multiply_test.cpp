// Every form of tcgen05.mma that the machine knows: shapes, pairs, majors, swizzles, kinds, bytes
// of scale factors. The layouts are written down here a second time, element by element, from the
// PTX ISA (9.7.16.3 "Canonical Layouts", 9.7.16.10.5 "Data Path Layout Organization", 9.7.16.10.7)
// and CUTLASS' canonical layouts and atoms of scale factors.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "emu/arithmetic/half.hpp"
#include "emu/machine.hpp"
#include "wgrad/arch/arch.cuh"
#include "wgrad/shared/instruction_descriptor.hpp"
#include "wgrad/shared/matrix_descriptor.hpp"

namespace wgrad::emu {
namespace {

using namespace wgrad::device;
namespace arch = wgrad::device::arch;

constexpr u32 kTileBytes = 32768;  // room for either operand in any layout
constexpr u32 kAtomsAt = 2 * kTileBytes;
constexpr u32 kBarrierAt = kAtomsAt + 8 * 512;
constexpr u32 kSlotAt = kBarrierAt + 8;
constexpr u32 kColumnsOfSfa = 256, kColumnsOfSfb = 272;  // behind the results

/// How an operand lies: bytes of a swizzled row (16: no swizzle), and which extent is contiguous.
struct Form {
  u32 row = 128;
  bool mn_major = false;
  u32 bits = 16;  // of an element

  u32 depth() const { return 256 / bits; }
  // Byte strides that the descriptor holds. Unlike each other where the layout uses both.
  u32 leading() const {
    if (row == 16) return 4096;
    return mn_major ? 8 * row * (depth() / 8) : 0;
  }
  u32 stride() const { return row == 16 ? 128 : 8 * row; }

  /// Byte of element (mn, k); of two FP4, the first in the low half.
  u32 offset(u32 mn, u32 k) const {
    const u32 unit = 128 / bits;  // elements of 16 bytes
    if (row == 16) {              // 8 x 16-byte core matrices
      if (mn_major)
        return mn / unit * stride() + k / 8 * leading() + k % 8 * 16 + mn % unit * bits / 8;
      return mn / 8 * stride() + k / unit * leading() + mn % 8 * 16 + k % unit * bits / 8;
    }
    const u32 wide = row * 8 / bits;  // elements
    const u32 plain =
        mn_major ? mn / wide * leading() + k / 8 * stride() + k % 8 * row + mn % wide * bits / 8
                 : mn / 8 * stride() + mn % 8 * row + k * bits / 8;
    // 128: bits 4-6 with bits 7-9; 64: bits 4-5 with 7-8; 32: bit 4 with bit 7.
    return plain ^ ((plain >> 7 & (row / 16 - 1)) << 4);
  }
  u64 descriptor(u32 address) const {
    const u64 mode = row == 128 ? 2 : row == 64 ? 4 : row == 32 ? 6 : 0;
    return mode << 61 | u64{1} << 46 | u64{stride() >> 4} << 32 | u64{leading() >> 4} << 16 |
           address >> 4;
  }
};

struct Case {
  MmaKind kind = MmaKind::kF16;
  u32 ctas = 1;
  u32 m = 128, n = 64;  // of the pair
  Form a, b;
  u32 instruction = 0;
  u32 byte = 0;  // of the scale factors

  u32 rows() const { return m / ctas; }
  u32 depth() const { return mma_depth(kind); }
};

// Values that every type holds, and their codes.
constexpr float kValues[] = {0, 1, -2, 3, 0.5F, -1, 4, -6, 2, 1.5F, -3};
constexpr std::uint8_t kE2m1Codes[] = {0, 2, 12, 5, 1, 10, 6, 15, 4, 3, 13};
constexpr std::uint8_t kE4m3Codes[] = {0,    0x38, 0xc0, 0x44, 0x30, 0xb8,
                                       0x48, 0xcc, 0x40, 0x3c, 0xc4};
u32 which_a(u32 i, u32 k) {
  return (i * 5 + k * 3 + i * k) % 11;
}
u32 which_b(u32 j, u32 k) {
  return (j * 7 + k + j * k * 2) % 11;
}

u32 code_of(const Form& form, u32 which) {
  if (form.bits == 16) return float_to_bf16(kValues[which]);
  return form.bits == 8 ? kE4m3Codes[which] : kE2m1Codes[which];
}

// e8m0: 2^(code - 127); e4m3: 1, 1.5, 2, 3.
u32 scale_code(MmaKind kind, u32 row, u32 i) {
  constexpr u32 kE4m3[] = {0x38, 0x3c, 0x40, 0x44};
  const u32 which = (row * 3 + i * 5 + row * i) % 4;
  return kind == MmaKind::kMxf4nvf4 ? kE4m3[which] : 125 + which;
}
double scale_value(MmaKind kind, u32 row, u32 i) {
  constexpr double kE4m3[] = {1, 1.5, 2, 3};
  const u32 which = (row * 3 + i * 5 + row * i) % 4;
  return kind == MmaKind::kMxf4nvf4 ? kE4m3[which] : std::ldexp(1.0, static_cast<int>(which) - 2);
}
// The scale factor of element k of an instruction that begins at byte `byte`.
u32 scale_index(const Case& c, u32 k) {
  return c.byte + k / (c.depth() / mma_scales(c.kind));
}

double expected(const Case& c, u32 i, u32 j) {
  double sum = 0;
  for (u32 k = 0; k < c.depth(); ++k) {
    double product = double{kValues[which_a(i, k)]} * double{kValues[which_b(j, k)]};
    if (has_block_scales(c.kind)) {
      product *= scale_value(c.kind, i, scale_index(c, k)) *
                 scale_value(c.kind, j + 17, scale_index(c, k));
    }
    sum += product;
  }
  return sum;
}

struct Kernel {
  const Case& c;
  std::vector<float>& out;

  static u32 at(u32 offset) { return arch::shared_base() + offset; }
  u32 rank() const { return c.ctas == 1 ? 0 : arch::cluster_rank(); }

  // Byte by byte: two FP4 to each.
  template <typename Which>
  void place(u32 tile, const Form& form, u32 extent, u32 first, const Which& which) const {
    const u32 per = form.bits == 4 ? 2 : 1;
    for (u32 e = arch::thread_index() * per; e < extent * form.depth(); e += 128 * per) {
      const u32 mn = e / form.depth(), k = e % form.depth();
      u32 code = code_of(form, which(first + mn, k));
      if (per == 2) code |= code_of(form, which(first + mn, k + 1)) << 4;
      const auto byte = static_cast<std::uint8_t>(code);
      if (form.bits == 16) {
        arch::store_shared_u16(at(tile + form.offset(mn, k)), code);
      } else {
        emu::store_shared(at(tile + form.offset(mn, k)), &byte, 1);
      }
    }
  }

  // Atoms of 128 rows by 4 scale factors: byte (r % 32) * 16 + r / 32 % 4 * 4 + c.
  void place_scales() const {
    for (u32 e = arch::thread_index(); e < (128 + 256) * 4; e += 128) {
      const u32 row = e / 4, i = e % 4, atom = row / 128;
      const u32 of = atom == 0 ? rank() * 128 + row : row - 128 + 17;
      const auto byte = static_cast<std::uint8_t>(scale_code(c.kind, of, i));
      emu::store_shared(at(kAtomsAt + atom * 512 + row % 32 * 16 + row / 32 % 4 * 4 + i), &byte, 1);
    }
  }

  template <u32 kCtas>
  void multiply(u32 base) const {
    const u64 a = c.a.descriptor(at(0)), b = c.b.descriptor(at(kTileBytes));
    const u32 sfa = base + kColumnsOfSfa, sfb = base + kColumnsOfSfb;
    if (has_block_scales(c.kind)) {
      const u32 targets[] = {sfa, sfb, sfb + 4};
      for (u32 i = 0; i < 3; ++i)
        arch::tcgen05_copy_scales<kCtas>(targets[i],
                                         matrix_descriptor(kScaleAtoms, at(kAtomsAt + i * 512)));
    }
    const auto scaled = [&](auto kind) {
      arch::tcgen05_multiply_scaled<decltype(kind)::value, kCtas>(
          base, a, b, with_scale_bytes(c.instruction, c.byte, c.byte), sfa, sfb, 0);
    };
    if (c.kind == MmaKind::kF16) arch::tcgen05_multiply<kCtas>(base, a, b, c.instruction, 0);
    if (c.kind == MmaKind::kMxf8f6f4) scaled(std::integral_constant<MmaKind, MmaKind::kMxf8f6f4>());
    if (c.kind == MmaKind::kMxf4) scaled(std::integral_constant<MmaKind, MmaKind::kMxf4>());
    if (c.kind == MmaKind::kMxf4nvf4) scaled(std::integral_constant<MmaKind, MmaKind::kMxf4nvf4>());
    if constexpr (kCtas == 1) {
      arch::tcgen05_commit<1>(at(kBarrierAt));
    } else {
      arch::tcgen05_commit_multicast<2>(at(kBarrierAt), 3);
    }
  }

  // Row and column of the pair's results in this CTA's tensor memory.
  std::pair<u32, u32> element(u32 lane, u32 column) const {
    if (c.m == 64) return {lane / 32 * 16 + lane % 16, column};
    if (c.ctas == 2 && c.m == 128) return {rank() * 64 + lane % 64, lane / 64 * (c.n / 2) + column};
    return {rank() * 128 + lane, column};
  }

  void read(u32 base) const {
    const u32 t = arch::lane_index(), quarter = arch::thread_index() / 32 % 4 * 32;
    const u32 columns = c.ctas == 2 && c.m == 128 ? c.n / 2 : c.n;
    for (u32 half = 0; half < (c.m == 64 ? 1U : 2U); ++half) {
      const u32 lane = quarter + 16 * half;
      for (u32 first = 0; first < columns; first += 64) {
        float v[32];
        arch::tensor_memory_load_fragments(v, (lane << 16) + base + first);
        arch::tensor_memory_wait_loads();
        for (u32 k = 0; k < 32; ++k) {
          const auto [i, j] =
              element(lane + t / 4 + k / 2 % 2 * 8, first + t % 4 * 2 + k % 2 + k / 4 * 8);
          out[i * c.n + j] = v[k];
        }
      }
    }
  }

  template <u32 kCtas>
  void run() const {
    if (arch::thread_index() == 0) {
      arch::barrier_init(at(kBarrierAt), 1);
      arch::barrier_init_fence();
    }
    place(0, c.a, c.rows(), rank() * c.rows(), which_a);
    place(kTileBytes, c.b, c.n / kCtas, rank() * (c.n / kCtas), which_b);
    place_scales();
    arch::fence_async_shared();
    const auto everybody = [] { kCtas == 1 ? arch::cta_sync() : arch::cluster_sync(); };
    everybody();
    if (arch::thread_index() < 32) arch::tensor_memory_alloc<kCtas>(at(kSlotAt), 512);
    everybody();
    const u32 base = arch::load_shared_u32(at(kSlotAt));
    if (rank() == 0 && arch::thread_index() == 0) multiply<kCtas>(base);
    arch::barrier_wait(at(kBarrierAt), 0);
    arch::tcgen05_fence_after_sync();
    read(base);
    everybody();
    if (arch::thread_index() < 32) arch::tensor_memory_free<kCtas>(base, 512);
  }

  void operator()() const { c.ctas == 1 ? run<1>() : run<2>(); }
};

std::string wrong(const Case& c, std::uint64_t seed = 1) {
  std::vector<float> out(std::size_t{c.m} * c.n, -1.0F);
  Launch launch;
  launch.kernel = Kernel{c, out};
  launch.ctas = launch.cluster_size = c.ctas;
  launch.threads = 128;
  launch.shared_bytes = kSlotAt + 8;
  GlobalMemory memory;
  const auto outcome = run(launch, memory, {.seed = seed});
  if (outcome.fault) return outcome.fault->text();
  for (u32 i = 0; i < c.m; ++i) {
    for (u32 j = 0; j < c.n; ++j) {
      if (out[i * c.n + j] != expected(c, i, j))
        return "element " + std::to_string(i) + ", " + std::to_string(j);
    }
  }
  return "";
}

MmaMajors majors(const Case& c) {
  return {c.a.mn_major, c.b.mn_major};
}

class Tcgen05Forms : public testing::TestWithParam<std::tuple<u32, bool, u32, bool>> {};

TEST_P(Tcgen05Forms, MultiplyWhatTheDescriptorsName) {
  const auto [row_a, mn_a, row_b, mn_b] = GetParam();
  for (const auto& [ctas, m, n] :
       {std::tuple{1U, 128U, 64U}, {1U, 64U, 64U}, {2U, 256U, 128U}, {2U, 128U, 128U}}) {
    Case c{.ctas = ctas, .m = m, .n = n, .a = {row_a, mn_a, 16}, .b = {row_b, mn_b, 16}};
    c.instruction = f16_instruction(InputType::kBf16, {m, n}, majors(c));
    EXPECT_EQ(wrong(c), "") << "M " << m << " CTAs " << ctas;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tcgen05Forms,
                         testing::Combine(testing::Values(16, 32, 64, 128), testing::Bool(),
                                          testing::Values(16, 32, 64, 128), testing::Bool()));

TEST(Tcgen05Scales, OfBytesInBothMajors) {
  for (const u32 ctas : {1U, 2U}) {
    for (const bool mn_major : {false, true}) {
      for (const u32 byte : {0U, 1U, 2U, 3U}) {
        Case c{.kind = MmaKind::kMxf8f6f4,
               .ctas = ctas,
               .m = 128 * ctas,
               .n = 128,
               .a = {128, mn_major, 8},
               .b = {128, byte % 2 == 0, 8},
               .byte = byte};
        c.instruction =
            mxf8f6f4_instruction(ElementType::kE4m3, ElementType::kE4m3, {c.m, c.n}, majors(c));
        EXPECT_EQ(wrong(c), "") << ctas << mn_major << byte;
      }
    }
  }
}

TEST(Tcgen05Scales, OfPackedFp4) {
  for (const u32 ctas : {1U, 2U}) {
    for (const u32 n : {64U, 256U}) {
      for (const u32 byte : {0U, 2U}) {
        Case c{.kind = MmaKind::kMxf4,
               .ctas = ctas,
               .m = 128 * ctas,
               .n = n,
               .a = {128, false, 4},
               .b = {64, false, 4},
               .byte = byte};
        c.instruction = mxf4_instruction(ScaleType::kE8m0, {c.m, c.n});
        EXPECT_EQ(wrong(c), "") << ctas << n << byte;
      }
      Case c{.kind = MmaKind::kMxf4nvf4,
             .ctas = ctas,
             .m = 128 * ctas,
             .n = n,
             .a = {32, false, 4},
             .b = {128, false, 4}};
      c.instruction = mxf4_instruction(ScaleType::kE4m3, {c.m, c.n});
      EXPECT_EQ(wrong(c), "") << ctas << n;
    }
  }
}

}  // namespace
}  // namespace wgrad::emu
