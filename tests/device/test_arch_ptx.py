"""Every function of device/wgrad/arch/ptx gives exactly the PTX of the table arch_ptx.txt, and has a namesake on the
emulated machine."""

import os
import re

import arch_ptx
import pytest

ENTRIES = arch_ptx.read_table(arch_ptx.TABLE.read_text())

# Results follow from the operands alone: the compiler may move these and leave them out.
PURE = {"pack_bf16", "pack_fp16", "unpack_bf16", "unpack_fp16", "permute_bytes", "multiply_bf16", "multiply_fp16",
        "fp16_of_e4m3", "min_u16_pairs", "max_u16_pairs", "add_bf16", "e4m3_pair", "e5m2_pair"}
# They touch no memory and order none.
NO_MEMORY = {"cluster_rank", "map_to_rank", "release_registers", "claim_registers", "launch_dependents",
             "warp_max_u32"}
# They read what nobody writes while the kernel runs.
READ_ONLY = {"stream_u16", "stream_u32", "stream_half", "stream_chunk"}


def test_the_table_has_every_function():
    missing = arch_ptx.missing(ENTRIES)
    assert not missing, "\n".join(
        [*missing, "Add a line `call(PARAMETERS): arch::NAME(...);` for each, and for each form of a template; "
                   "tests/device/arch_ptx.py prints its PTX, which belongs below it once it was read."])


def test_no_entry_calls_what_is_not_there():
    assert arch_ptx.calls(ENTRIES) <= set(arch_ptx.functions("ptx"))


def test_both_machines_have_the_same_functions():
    ptx, emu = set(arch_ptx.functions("ptx")), set(arch_ptx.functions("emu"))
    assert ptx - emu == set(), "in device/wgrad/arch/ptx and not in arch/emu"
    assert emu - ptx == {"shared_value", "global_value", "halfwise"}, "in device/wgrad/arch/emu and not in arch/ptx"


def statements():
    """(function, asm statement) of arch/ptx."""
    for path in sorted((arch_ptx.ARCH / "ptx").glob("*.cuh")):
        name = None
        for match in re.finditer(r"WGRAD_DEVICE\s+[\w:<> ]+?\s+(\w+)\(|#define (\w+)|\basm\b.*?(?:\)\s*;|\)\n\n)",
                                 path.read_text(), re.DOTALL):
            if match[1] or match[2]:
                name = match[1] or match[2]
            else:
                yield name, match[0]


def test_asm_that_touches_memory_says_so():
    """`volatile` keeps it where it is among others, "memory" among loads and stores: no PTX shows either."""
    found = list(statements())
    assert len(found) > 70
    for name, text in found:
        if name in PURE:
            continue
        assert "volatile" in text, (name, text)
        assert '"memory"' in text or name in NO_MEMORY | READ_ONLY, (name, text)


@pytest.fixture(scope="module")
def given():
    if arch_ptx.nvrtc() is None:
        if os.environ.get("WGRAD_REQUIRE_NVRTC") == "1":
            pytest.fail("WGRAD_REQUIRE_NVRTC=1, but there is no NVRTC")
        pytest.skip("no NVRTC; WGRAD_REQUIRE_NVRTC=1 forbids this")
    return arch_ptx.compiler_gives(ENTRIES)


def test_every_function_gives_the_ptx_of_the_table(given):
    wrong = [f"{entry.line}\n  given:  {lines}\n  wanted: {entry.ptx}"
             for entry, lines in zip(ENTRIES, given) if lines != entry.ptx]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a"])
def test_every_function_assembles_for_blackwell(given, arch):
    """The assembler knows the forms of its architecture; wgmma exists on SM 9.0 alone."""
    entries = [entry for entry in ENTRIES if "wgmma_" not in entry.body or "wgmma_pin" in entry.body]
    assert len(entries) > 100 and any("tcgen05.mma" in line for entry in entries for line in entry.ptx)
    arch_ptx.assemble(entries, arch)
