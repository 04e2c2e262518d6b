"""Mutants of the SM 10.0 kernel for block-scaled operands, as those of mutants.py; `kernel` is an index into kConfigs of
src/kernels/sm100_scaled/emulated/configs.hpp.

What it shares with other kernels is broken there; here what only this kernel has.
"""

PREPARATION, MULTIPLIER = "sm100_scaled/preparation.cuh", "sm100_scaled/multiplier.cuh"
PRODUCER, STAGE, MAIN = "sm100_scaled/producer.cuh", "sm100_scaled/stage.cuh", "sm100_scaled/wgrad_sm100_scaled.cuh"
CONFIG, SMEM = "sm100_scaled/config.hpp", "sm100_scaled/smem.hpp"
INSTRUCTION, FACTORS = "shared/instruction_descriptor.hpp", "common/global_factors.cuh"

SM100_SCALED = [
    # Preparation.
    ("scale factors of padding kept", PREPARATION, "    if constexpr (kCleansScales) clean_scales(at.slot, w, left);\n", "", 6),
    ("a column of padding kept", PREPARATION, "const u32 kept = columns % kScaleAtomColumns;",
     "const u32 kept = (columns + 1) % kScaleAtomColumns;", 8),
    ("stage prepared before it is there", PREPARATION, "      stages.wait_full(at);\n", "", 3),
    ("next stage not waited for", PREPARATION, "        stages.wait_full(next);\n", "", 3),
    ("row ends with its own stage", PREPARATION, "last ? next : tile", "tile", 3),
    ("prepared without proxy fence", PREPARATION, "      arch::fence_async_shared();\n", "", 3),
    ("foreign tokens kept", PREPARATION, "kept >= 32 ? ~0u : kept <= 0 ? 0u : (1u << kept) - 1", "~0u", 3),
    ("rows moved by whole words", PREPARATION, "(bytes % 4 * 8)", "0", 3),
    ("rows not moved", PREPARATION, "if (shift != 0) {", "if (false) {", 3),
    ("ready before all lanes are done", PREPARATION, "arrive_together(stages.ready(at.slot));",
     "if (arch::lane_index() == 0) arch::barrier_arrive(stages.ready(at.slot));", 3, 40),
    # The multiplier.
    ("prepared stage not waited for", MULTIPLIER, "      arch::barrier_wait(stages.ready(at.slot), at.parity);\n", "", 3),
    ("stage not waited for", MULTIPLIER, "      stages.wait_full(at);\n", "", 0),
    ("scale factors written over those that are read", MULTIPLIER, "    stages.wait_empty(at);\n", "", 0),
    ("no fence before scale factors are written", MULTIPLIER, "    stages.wait_empty(at);\n    arch::tcgen05_fence_after_sync();\n",
     "    stages.wait_empty(at);\n", 0),
    ("columns of A's scale factors are one stage's", MULTIPLIER, "(at.slot * kAtoms + atom) * kAtomColumns;", "atom * kAtomColumns;", 0),
    ("scale factors of the first step for all", MULTIPLIER, "with_scale_bytes(instruction, byte, byte)",
     "with_scale_bytes(instruction, 0, 0)", 0),
    ("first atom for all", MULTIPLIER, "stages.scales_a(at.slot) + atom * kScaleAtomBytes", "stages.scales_a(at.slot)", 6),
    ("all of B under the scale factors of its first columns", MULTIPLIER, "(block * kAtoms + atom) * kScaleAtomBytes",
     "atom * kScaleAtomBytes", 11),
    ("blocks without tokens multiplied", MULTIPLIER, "      if (s >= steps) break;\n", "", 0),
    ("last block left out", MULTIPLIER, "ceil_div(u32(left), kDepth)", "u32(left) / kDepth", 0),
    ("sum begins anew at every step", MULTIPLIER, "s == 0 ? keep : 1", "keep", 0),
    ("stage handed back by hand", MULTIPLIER, "arch::tcgen05_commit<1>(stages.empty(at.slot));",
     "arch::barrier_arrive(stages.empty(at.slot));", 0),
    ("end does not wait for commits", MULTIPLIER, "    stages.wait_all_empty(at);\n", "", 0, 40),
    ("atoms beyond the last column copied", MULTIPLIER,
     "      if (block > 0 && w.n0 + i32(block) * kScaleAtomRows >= cta.params.n) break;\n", "", 11),
    ("B has A's elements", INSTRUCTION, "bits::byte_code(b) << bits::kB", "bits::byte_code(a) << bits::kB", 1),
    ("e4m3 scale factors taken for e8m0", INSTRUCTION, "(scale == ScaleType::kE8m0 ? 1u : 0u)", "1u", 6),
    # Copies.
    ("stage filled too early", PRODUCER, "        stages.wait_empty(at);\n        copy_stage", "        copy_stage", 0),
    ("MN-major box not cut", PRODUCER, "min_of(w.tokens.end - token, kConfig.tile_k)", "kConfig.tile_k", 0),
    ("K-major box begins off a unit", PRODUCER, "first - first % kCopyUnit + block", "first + block", 3),
    ("bytes of B's atoms not announced", PRODUCER,
     "(atom_rows<A::kRows>(w.m0, cta.params.m) + atom_rows<B::kRows>(w.n0, cta.params.n))", "atom_rows<A::kRows>(w.m0, cta.params.m)", 0),
    ("copies not waited for", PRODUCER, "    arch::wait_copies<kLeft>();\n", "", 5),
    ("copied without proxy fence", PRODUCER, "    arch::fence_async_shared();\n", "", 5),
    ("stage that the last rows reach into left out", STAGE, "ceil_div(bytes + shift, u32{kSwizzleBytes})",
     "ceil_div(bytes, u32{kSwizzleBytes})", 3, 60),
    # The frame.
    ("full counts the copy engine alone", SMEM, "static_cast<u32>(1 + copier_warps(c))", "1", 3),
    ("ready counts a warp less", SMEM, '"ready", stages, preparation_warps(c)', '"ready", stages, preparation_warps(c) - 1', 3),
    ("queue counts a reader less", CONFIG, "return 2 + copier_warps(c)", "return 1 + copier_warps(c)", 0),
    ("scale factors over the accumulators", CONFIG, "static_cast<u32>(accumulators(c) * c.tile_n)",
     "static_cast<u32>(accumulators(c) * c.tile_n - 4)", 0),
    ("scale factors of A over those of B", CONFIG, "static_cast<u32>(c.stages * stage_atoms(c) * b_blocks(c) * kAtomColumns)", "0u", 0),
    ("checkpoints read before they are written", MAIN, "  write_checkpoints(cta);\n  arch::cta_sync();\n", "  write_checkpoints(cta);\n", 0),
    ("tensor memory kept", MAIN, "    arch::tensor_memory_free<1>(memory, kColumns);\n", "", 0),
    ("every lane multiplies", MAIN, "if (arch::elect_one()) {", "if (true) {", 0),
    ("global factor of B forgotten", FACTORS, "Factors(extra.value[1], extra.value[2])", "Factors(extra.value[1], 1.0f)", 6),
]

CI = ["scale factors of padding kept", "no fence before scale factors are written", "copied without proxy fence"]

EQUIVALENT = {
    "scale factors written over those that are read": "the copies of the stage were issued after the same wait: the machine lets that "
                                                      "order what follows them, PTX does not say so",
}
