// A stage's scale factors in shared memory: for each 128 rows the atoms (contract, "scale storage")
// that hold the columns of its tokens, one behind the other.
#pragma once

#include "wgrad/common/scale_columns.cuh"

namespace wgrad::device {

// Where a row's first four scale columns lie among kAtoms atoms of each 128 rows; four more in each
// atom after it.
template <u32 kAtoms>
WGRAD_DEVICE u32 scale_offset(u32 row) {
  return row / kScaleAtomRows * (kAtoms * kScaleAtomBytes) + row % 32 * 16 + row / 32 % 4 * 4;
}

// How many atoms there are for kRows rows of an operand, of which those beyond its last row do not
// exist.
template <u32 kRows>
WGRAD_DEVICE u32 atom_rows(i32 row, i32 extent) {
  return min_of(kRows, u32(round_up(extent - row, kScaleAtomRows))) / u32{kScaleAtomRows};
}
// Atoms of each 128 rows that hold a stage's columns, at most kAtoms; an expert's last stage may
// lack some. `pitch`: the expert's columns. `column`: the stage's first, among them.
template <u32 kAtoms>
WGRAD_DEVICE u32 atom_columns(u32 pitch, u32 column) {
  return min_of(kAtoms, (pitch - column + kScaleAtomColumns - 1) / u32{kScaleAtomColumns});
}

// One thread has the copy engine bring the atoms of rows [row, row + kRows). `first`: the expert's
// first column in the tensor.
template <u32 kRows, u32 kAtoms>
WGRAD_DEVICE void load_atoms(u32 target, u32 barrier, u64 scales, i32 row, i32 extent, u64 first,
                             u32 pitch, u32 column) {
  const u64 base = scales + u64(round_up(extent, kScaleAtomRows)) * first;
  const u32 bytes = atom_columns<kAtoms>(pitch, column) * kScaleAtomBytes;
  for (u32 j = 0; j < atom_rows<kRows>(row, extent); ++j) {
    const u64 block = u64(row / kScaleAtomRows + i32(j)) * (pitch / kScaleAtomColumns) +
                      column / kScaleAtomColumns;
    arch::load_bytes(target + j * u32(kAtoms * kScaleAtomBytes), base + block * kScaleAtomBytes,
                     bytes, barrier);
  }
}

// Where an operand's compact scale factors lie, for one expert.
struct CompactScales {
  u64 address;
  i64 pitch;    // bytes of a row
  u64 first;    // the expert's first column
  u32 columns;  // of the expert
};

// Thread `thread` of kThreads copies compact scale factors to where their atoms would have them:
// columns [column, column + kColumns) of rows [row, row + kRows); zeros where there are none.
template <u32 kRows, u32 kColumns, u32 kThreads>
WGRAD_DEVICE void copy_scales(u32 target, const CompactScales& from, i32 row, i32 extent,
                              u32 column, u32 thread) {
  constexpr u32 kAtoms = ceil_div(kColumns, u32{kScaleAtomColumns});
  for (u32 r = thread; r < kRows; r += kThreads) {
    const u64 at = from.address + u64(row + i32(r)) * u64(from.pitch) + from.first + column;
#pragma unroll
    for (u32 atom = 0; atom < kAtoms; ++atom) {
      u32 word = 0;
#pragma unroll
      for (u32 i = atom * kScaleAtomColumns; i < min_of(kColumns, (atom + 1) * kScaleAtomColumns);
           ++i) {
        if (column + i < from.columns && row + i32(r) < extent)
          word |= arch::load_global_u8(at + i) << (8 * ((column + i) % kScaleAtomColumns));
      }
      arch::store_shared_u32(target + scale_offset<kAtoms>(r) + atom * kScaleAtomBytes, word);
    }
  }
}

}  // namespace wgrad::device
