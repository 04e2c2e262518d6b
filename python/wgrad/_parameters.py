"""The parameters of grouped_wgrad, of the wrapper and of the operator class: one table.

It gives their names, what each may be, and, by ``tools/parameters``, the functions' signatures and
documentation, the stub of ``_core.Options`` and the names that refusals use. A new option is a row
here, a member of ``Options`` in ``src/call/options.hpp``, and what reads it in ``src/call/``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from . import _checks


class Use(NamedTuple):
    """A parameter as one function has it. Where `text` repeats that of the row before it, one entry
    of the documentation tells both."""

    name: str
    text: str
    annotation: str = "Any"
    default: str = ""  #: source text; "": required


class Parameter(NamedTuple):
    """One row: the core's name, and what each function makes of it; None: it has no such one."""

    field: str
    natural: Use | None = None
    call: Use | None = None
    sample: Use | None = None
    check: Callable[[Any, str], Any] | None = None  #: of an option; None: a tensor, or a form
    stub: str = ""  #: annotation of the option in _core.Options


def _same(use: Use) -> dict[str, Use]:
    """The parameter of all three functions."""
    return {"natural": use, "call": use, "sample": use}


_A = "(M, T), K-major or M-major; bfloat16, float16, FP8, or packed FP4 (M, T/2)."
_SCALES = (
    "scale factors of a block-scaled format, swizzled, 2-D (round_up(rows, 128), cols) or flat, of "
    "M rows for A and N for B; None for 16-bit operands."
)
_NATURAL_SCALES = (
    "float8_e8m0fnu, float8_e4m3fn or uint8 scale factors in the swizzled layout, 2-D "
    "(round_up(rows, 128), cols) or flat, of M rows for x and N for dy; (rows, cols) with "
    "``compact_scales`` or a ``sf_vec_size`` of 128. For FP8 also float32: (E, M) and (E, N), or "
    "flat, one a row and expert, or (rows, cols) with a ``sf_vec_size`` of 128."
)
_GLOBAL = "(E,) float32, both or neither; NVFP4 needs them."
_ENDS = "(E,) int32, the cumulative ends of the experts."
_DISCRETE = (
    "E, (M, N) and the output's dtype (discrete mode). A sample_wgrad's own dtype wins over the "
    "default; another explicit one is refused."
)
_TILE = (
    "the GPU kernel's tile; (256, 256) and None leave the choice to wgrad. Without effect on a CPU."
)
_STREAM = (
    "integer handle, torch stream or CUstream; None: torch's current stream of the tensors' "
    "device. Must be None on a CPU."
)

TABLE = (
    Parameter(
        "a",
        Use(
            "x",
            "(T, M) activations, tokens sorted by expert; bfloat16 or float16 with one contiguous "
            "axis, or a block-scaled operand: a ``Quantized``, or its elements with ``x_scale``. "
            "FP8 is (T, M), with tokens contiguous where its scale factors are float32 or cover "
            "128 tokens; packed FP4 is (T/2, M) with tokens contiguous, two per byte.",
        ),
        Use("a_tensor", _A),
        Use("sample_a", _A),
    ),
    Parameter(
        "b",
        Use("dy", "(T, N) gradients of the layer's output, of x's dtype."),
        Use("b_tensor", "(T, N), K-major or N-major, of a_tensor's dtype."),
        Use(
            "sample_b",
            "(T, N), K-major or N-major, of sample_a's dtype. Without tokens both are taken for "
            "K-major.",
        ),
    ),
    Parameter(
        "sfa",
        Use("x_scale", _NATURAL_SCALES, default="None"),
        Use("sfa_tensor", _SCALES),
        Use("sample_sfa", _SCALES),
    ),
    Parameter(
        "sfb",
        Use("dy_scale", _NATURAL_SCALES, default="None"),
        Use("sfb_tensor", _SCALES),
        Use("sample_sfb", _SCALES),
    ),
    Parameter(
        "offsets",
        Use("offsets", _ENDS + " Rows past the last are never read."),
        Use("offsets_tensor", _ENDS),
        Use("sample_offsets", _ENDS),
    ),
    Parameter(
        "output_mode", call=Use("output_mode", "'dense' or 'discrete'.", "str", '"dense"')
    ),
    Parameter(
        "wgrad",
        Use(
            "out",
            "None for a new (E, M, N) tensor; an (E, M, N) tensor to write, contiguous along N and "
            "otherwise padded at will; or a list of E contiguous (M, N) tensors (on a GPU their "
            "addresses are copied there anew in each call, which therefore cannot be captured).",
            default="None",
        ),
        Use(
            "wgrad_tensor",
            "(E, M, N) output. None: dense mode, and discrete mode without wgrad_ptrs, allocate "
            "one (zeros when accumulating).",
            default="None",
        ),
        Use(
            "sample_wgrad",
            "(E, M, N) bfloat16, float16 or float32, contiguous along N (dense mode).",
            default="None",
        ),
    ),
    Parameter(
        "wgrad_ptrs",
        call=Use(
            "wgrad_ptrs",
            "(E,) int64 addresses (discrete mode), on the operands' device. With wgrad_tensor too, "
            "the results go through the pointers, and wgrad_tensor, whose rows must be packed "
            "then, is checked and returned.",
            default="None",
        ),
    ),
    Parameter(
        "wgrad_expert",
        sample=Use(
            "sample_wgrad_expert",
            "(M, N) or (M, N, 1), one contiguous expert of a discrete output.",
            default="None",
        ),
    ),
    Parameter("num_experts", sample=Use("num_experts", _DISCRETE, "int | None", "None")),
    Parameter("wgrad_shape", sample=Use("wgrad_shape", _DISCRETE, "tuple[int, int] | None", "None")),
    Parameter(
        "global_scale_a",
        Use("x_global_scale", _GLOBAL, default="None"),
        Use("global_scale_a", _GLOBAL, default="None"),
        Use("sample_global_scale_a", _GLOBAL, default="None"),
    ),
    Parameter(
        "global_scale_b",
        Use("dy_global_scale", _GLOBAL, default="None"),
        Use("global_scale_b", _GLOBAL, default="None"),
        Use("sample_global_scale_b", _GLOBAL, default="None"),
    ),
    # Options, in the order in which they are checked.
    Parameter(
        "mma_tiler_mn",
        **_same(Use("mma_tiler_mn", _TILE, "tuple[int, int]", "(256, 256)")),
        check=_checks.tile,
        stub="tuple[int, int]",
    ),
    Parameter(
        "cluster_shape_mn",
        **_same(Use("cluster_shape_mn", _TILE, "tuple[int, int] | None", "None")),
        check=_checks.cluster,
        stub="tuple[int, int] | None",
    ),
    Parameter(
        "sf_vec_size",
        Use(
            "sf_vec_size",
            "tokens a scale factor covers. Default: all tokens of an expert for float32 scale factors "
            "(128: blocks of as many), 16 for float8_e4m3fn ones, else 32; uint8 scale factors of "
            "FP4 need it given.",
            "int | None",
            "None",
        ),
        *2 * (
            Use(
                "sf_vec_size",
                "tokens a scale factor covers: 16 (NVFP4), 32 or 128 (FP8 1x128); 16 for 16-bit "
                "operands. FP8 rowwise, which has one for all tokens: grouped_wgrad.",
                "int",
                "16",
            ),
        ),
        check=_checks.vec_size,
        stub="int | None",
    ),
    Parameter(
        "compact_scales",
        Use("compact_scales", "scale factors are (rows, cols), unswizzled.", "bool", "False"),
        *2 * (
            Use(
                "compact_scales",
                "scale factors are (M, cols) and (N, cols), unswizzled.",
                "bool",
                "False",
            ),
        ),
        check=_checks.flag,
        stub="bool",
    ),
    Parameter(
        "input_order",
        Use(
            "input_order",
            "'tensor2d', or 'tensor_ragged' where K-major expert blocks follow one another.",
            default='"tensor2d"',
        ),
        *2 * (
            Use(
                "input_order",
                "'tensor2d' or 'tensor_ragged'.",
                default="WGradInputOrder.Tensor2D",
            ),
        ),
        check=_checks.order,
        stub="str",
    ),
    Parameter(
        "accumulate",
        Use(
            "accumulate",
            "add to ``out``, straight from the float32 accumulator; an expert without tokens "
            "leaves its part unchanged. False: overwrite, and zeros for an expert without tokens.",
            "bool",
            "False",
        ),
        *2 * (
            Use(
                "accumulate_on_output",
                "add to the output instead of overwriting it.",
                "bool",
                "False",
            ),
        ),
        check=_checks.accumulation,
        stub="bool",
    ),
    Parameter(
        "fast_accumulation",
        Use(
            "use_fast_accum",
            "FP8 with one scale factor a row and expert: sums may stay in the tensor cores' short "
            "accumulators, which keep about 13 bits, as torch's argument of this name lets them.",
            "bool",
            "False",
        ),
        check=_checks.flag,
        stub="bool",
    ),
    Parameter(
        "wgrad_dtype",
        Use(
            "out_dtype",
            "bfloat16, float16 or float32. Default: out's dtype, else x's (bfloat16 for a "
            "block-scaled x).",
            default="None",
        ),
        Use(
            "wgrad_dtype",
            "bfloat16 (default), float16 or float32. A given wgrad_tensor's own dtype wins over "
            "the default; another explicit one is refused.",
            default="None",
        ),
        Use("wgrad_dtype", _DISCRETE, default="None"),
        check=_checks.output_dtype,
        stub="str | None",
    ),
    Parameter(
        "acc_dtype",
        **_same(Use("acc_dtype", "None or float32.", default="None")),
        check=_checks.acc_dtype,
        stub="str | None",
    ),
    Parameter(
        "sf_fp8_dtype_override",
        None,
        *2 * (Use("sf_fp8_dtype_override", "None, nothing else.", default="None"),),
        check=_checks.text_or_none,
        stub="str",
    ),
    Parameter(
        "backend",
        **_same(
            Use(
                "backend",
                "None: the first that supports the problem; 'reference' computes in plain loops.",
                "str | None",
                "None",
            )
        ),
        check=_checks.backend_name,
        stub="str",
    ),
    Parameter(
        "validate_device_data",
        **_same(
            Use(
                "validate_device_data",
                "check offsets and pointers before each run on a GPU too, which synchronises.",
                "bool",
                "False",
            )
        ),
        check=_checks.flag,
        stub="bool",
    ),
    Parameter(
        "sm_limit",
        **_same(
            Use(
                "sm_limit",
                "most multiprocessors of a GPU that the kernel may occupy, for work beside it such "
                "as communication; None: all. Must be None on a CPU.",
                "int | None",
                "None",
            )
        ),
        check=_checks.limit,
        stub="int",
    ),
    Parameter(
        "allow_unverified",
        **_same(
            Use(
                "allow_unverified",
                "also take kernels that have been emulated and compiled, but have never run on a "
                "GPU like the tensors' (SM 10.0, 10.3), as WGRAD_ALLOW_UNVERIFIED=1 does.",
                "bool",
                "False",
            )
        ),
        check=_checks.flag,
        stub="bool",
    ),
    Parameter(
        "tensor_layouts",
        call=Use(
            "tensor_layouts",
            "(shape, strides, dtype) by argument name, for torch tensors that are handed over as "
            "plain memory; a wgrad_tensor is returned as it was given.",
            default="None",
        ),
        sample=Use(
            "tensor_layouts",
            "(shape, strides, dtype) by execute()'s argument names, for torch tensors that samples "
            "and calls hand over as plain memory. The layouts hold T too.",
            default="None",
        ),
    ),
    Parameter(
        "stream",
        Use("stream", _STREAM, default="None"),
        Use("current_stream", _STREAM, default="None"),
    ),
    Parameter(
        "workspace",
        Use(
            "workspace",
            "uint8 tensor for the kernel's mutable state, on the tensors' device, of "
            "get_grouped_gemm_wgrad_workspace_size_sm100(E) bytes or more; with a list in "
            '``out``, of (E, output_mode="discrete").',
            default="None",
        ),
        Use(
            "descriptor_workspace",
            "uint8 tensor of the queried size on the operands' device.",
            default="None",
        ),
    ),
)

#: Of each column, in its signature's order; keywords begin at "*".
ORDERS = {
    "natural": (
        "a b offsets wgrad accumulate * wgrad_dtype sfa sfb global_scale_a global_scale_b "
        "sf_vec_size compact_scales fast_accumulation input_order acc_dtype mma_tiler_mn "
        "cluster_shape_mn backend validate_device_data sm_limit allow_unverified stream "
        "workspace"
    ),
    "call": (
        "a b sfa sfb offsets output_mode wgrad wgrad_ptrs global_scale_a global_scale_b "
        "acc_dtype wgrad_dtype mma_tiler_mn cluster_shape_mn sf_vec_size "
        "sf_fp8_dtype_override accumulate input_order stream * workspace compact_scales "
        "backend validate_device_data sm_limit allow_unverified tensor_layouts"
    ),
    "sample": (
        "a b sfa sfb offsets wgrad wgrad_expert num_experts wgrad_shape wgrad_dtype "
        "global_scale_a global_scale_b acc_dtype mma_tiler_mn cluster_shape_mn sf_vec_size "
        "sf_fp8_dtype_override accumulate input_order * compact_scales backend "
        "validate_device_data sm_limit allow_unverified tensor_layouts"
    ),
}
