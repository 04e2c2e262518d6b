// MN-major codes of a raw stage: a warp decodes 64 columns of 32 tokens, a thread 16 columns of
// every eighth. Multipliers of all columns are made once a stage, in shared memory.
#pragma once

#include "wgrad/sm90_scaled/decode_near.cuh"
#include "wgrad/sm90_scaled/raw_stage.cuh"

namespace wgrad::device {

template <KernelConfig auto kConfig, bool kOfA>
struct ColumnConverter {
  using S = Side<kConfig, kOfA>;
  using Codes = typename S::Codes;
  static constexpr u32 kAllRows = multiplied_rows(kConfig);
  static constexpr u32 kFirstRow = kOfA || kConfig.registers_a ? 0 : u32(kConfig.tile_m);
  static constexpr u32 kRawBlocks = u32(raw_tokens(kConfig) / kBlockTokens);
  static constexpr u32 kTasks = S::kRows / 64 * stage_blocks(kConfig);

  // `table`: of the stage.
  WGRAD_DEVICE static u32 multiplier_at(u32 table, u32 row, u32 block) {
    return table + (block * kAllRows + kFirstRow + row) * 2;
  }
  WGRAD_DEVICE static void write_multipliers(const StageOperand& s, u32 table, u32 row) {
    const bool inside = i32(row) < s.rows;
    const u32 codes = inside ? S::scale_codes(s, row) : 0;
#pragma unroll
    for (u32 block = 0; block < kRawBlocks; ++block) {
      const u32 scale = codes >> (8 * block) & 0xff;
      const bool any = inside && s.tokens > i32(block * kBlockTokens);
      arch::store_shared_u16(multiplier_at(table, row, block),
                             any ? Codes::multiplier_or_zero(scale) & 0xffff : 0);
    }
  }

  // The same in FP16, of scale factors near `least` (decode_near.cuh); of others some finite value.
  WGRAD_DEVICE static void write_near_multipliers(u32 codes, u32 table, u32 row, u32 least) {
    static_assert(kRawBlocks == 4);
    using Near = NearDecoder<S::kElement, kConfig.scale>;
    const u32 even = Near::multipliers(arch::permute_bytes<0x4240>(codes, 0), least);
    const u32 odd = Near::multipliers(arch::permute_bytes<0x4341>(codes, 0), least);
    arch::store_shared_u16(multiplier_at(table, row, 0), even & 0xffff);
    arch::store_shared_u16(multiplier_at(table, row, 1), odd & 0xffff);
    arch::store_shared_u16(multiplier_at(table, row, 2), even >> 16);
    arch::store_shared_u16(multiplier_at(table, row, 3), odd >> 16);
  }

  // 16 columns from `row` on of one token, element by element.
  template <typename Bits>
  WGRAD_DEVICE static void write_each(const StageOperand& s, u32 row, u32 token, const Bits& bits) {
    const u32 box = s.tile + row / 64 * u32(kConfig.tile_k * kSwizzleBytes);
#pragma unroll 1
    for (u32 i = 0; i < 16; i += 2) {
      const u32 value =
          S::element(s, row + i, token, bits) | S::element(s, row + i + 1, token, bits) << 16;
      arch::store_shared_u32(swizzled(box, token, (row % 64 + i) / 8) + i % 8 * 2, value);
    }
  }

  WGRAD_DEVICE static void write(const StageOperand& s, u32 row, u32 token, const arch::Chunk& c,
                                 const arch::Chunk& low, const arch::Chunk& high) {
    const u32 box = s.tile + row / 64 * u32(kConfig.tile_k * kSwizzleBytes);
    const auto half = [&](u32 first, const arch::Chunk& by) {
      return arch::Chunk{{Codes::low_pair(c.word[first], by.word[0]),
                          Codes::high_pair(c.word[first], by.word[1]),
                          Codes::low_pair(c.word[first + 1], by.word[2]),
                          Codes::high_pair(c.word[first + 1], by.word[3])}};
    };
    arch::store_shared(swizzled(box, token, row % 64 / 8), half(0, low));
    arch::store_shared(swizzled(box, token, row % 64 / 8 + 1), half(2, high));
  }

  // Task `task` of kTasks, a whole warp: `act(row, token)` for each thread's first column and
  // tokens. Neighbouring lanes take tokens whose rows lie apart in banks, on either side.
  template <typename Act>
  WGRAD_DEVICE static void for_each_token(u32 task, const Act& act) {
    const u32 lane = arch::lane_index(), j = lane / 4;
    const u32 row = task / stage_blocks(kConfig) * 64 + lane % 4 * 16;
    const u32 token = (j & 1 ? 5 : 0) ^ (j & 2) ^ (j & 4);
#pragma unroll 1
    for (u32 eight = 0; eight < u32{kBlockTokens}; eight += 8)
      act(row, task % stage_blocks(kConfig) * kBlockTokens + eight + token);
  }

  // A task whose scales are all direct.
  WGRAD_DEVICE static void convert(const StageOperand& s, u32 table, u32 task) {
    const u32 first = task / stage_blocks(kConfig) * 64 + arch::lane_index() % 4 * 16;
    const u32 at = multiplier_at(table, first, task % stage_blocks(kConfig));
    const arch::Chunk low = arch::load_shared(at), high = arch::load_shared(at + 16);
    for_each_token(task, [&](u32 row, u32 token) {
      const u32 box = s.codes + row / 128 * u32(kSwizzleBytes * kConfig.tile_k);
      const arch::Chunk c = arch::load_shared(swizzled(box, token, row % 128 / 16));
      u32 any = 0;
#pragma unroll
      for (u32 i = 0; i < 4; ++i) any |= Codes::specials(c.word[i]);
      if ((any & 0x80808080u) != 0) {
        write_each(s, row, token,
                   [](u32 code, u32 scale) { return exact_bits(S::kElement, code, scale); });
      } else {
        write(s, row, token, c, low, high);
      }
    });
  }
};

}  // namespace wgrad::device
