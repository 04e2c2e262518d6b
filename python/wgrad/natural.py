"""The natural spelling, for token-major activations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _core, cache
from ._functions import NATURAL
from ._tensors import is_jax, is_traced, jax_front_end, new_output
from .quantize import Quantized, packed, unwrap

#: What makes a call an operator while torch records a graph. The package says it, since the
#: operators come back to grouped_wgrad.
recorders: list[Callable[[dict[str, Any]], Any]] = []


def grouped_wgrad(
    x: Any,
    dy: Any,
    offsets: Any,
    out: Any = None,
    accumulate: bool = False,
    *,
    out_dtype: Any = None,
    x_scale: Any = None,
    dy_scale: Any = None,
    x_global_scale: Any = None,
    dy_global_scale: Any = None,
    sf_vec_size: int | None = None,
    compact_scales: bool = False,
    use_fast_accum: bool = False,
    input_order: Any = "tensor2d",
    acc_dtype: Any = None,
    mma_tiler_mn: tuple[int, int] = (256, 256),
    cluster_shape_mn: tuple[int, int] | None = None,
    backend: str | None = None,
    validate_device_data: bool = False,
    sm_limit: int | None = None,
    allow_unverified: bool = False,
    stream: Any = None,
    workspace: Any = None,
) -> Any:
    """Weight gradient of every expert: ``out[e] = x[begin:end].T @ dy[begin:end]``.

    Args:
        x: (T, M) activations, tokens sorted by expert; bfloat16 or float16 with one contiguous
            axis, or a block-scaled operand: a ``Quantized``, or its elements with ``x_scale``. FP8
            is (T, M), with tokens contiguous where its scale factors are float32 or cover 128
            tokens; packed FP4 is (T/2, M) with tokens contiguous, two per byte.
        dy: (T, N) gradients of the layer's output, of x's dtype.
        offsets: (E,) int32, the cumulative ends of the experts. Rows past the last are never read.
        out: None for a new (E, M, N) tensor; an (E, M, N) tensor to write, contiguous along N and
            otherwise padded at will; or a list of E contiguous (M, N) tensors (on a GPU their
            addresses are copied there anew in each call, which therefore cannot be captured).
        accumulate: add to ``out``, straight from the float32 accumulator; an expert without tokens
            leaves its part unchanged. False: overwrite, and zeros for an expert without tokens.
        out_dtype: bfloat16, float16 or float32. Default: out's dtype, else x's (bfloat16 for a
            block-scaled x).
        x_scale, dy_scale: float8_e8m0fnu, float8_e4m3fn or uint8 scale factors in the swizzled
            layout, 2-D (round_up(rows, 128), cols) or flat, of M rows for x and N for dy; (rows,
            cols) with ``compact_scales`` or a ``sf_vec_size`` of 128. For FP8 also float32: (E, M)
            and (E, N), or flat, one a row and expert, or (rows, cols) with a ``sf_vec_size`` of
            128.
        x_global_scale, dy_global_scale: (E,) float32, both or neither; NVFP4 needs them.
        sf_vec_size: tokens a scale factor covers. Default: all tokens of an expert for float32
            scale factors (128: blocks of as many), 16 for float8_e4m3fn ones, else 32; uint8 scale
            factors of FP4 need it given.
        compact_scales: scale factors are (rows, cols), unswizzled.
        use_fast_accum: FP8 with one scale factor a row and expert: sums may stay in the tensor
            cores' short accumulators, which keep about 13 bits, as torch's argument of this name
            lets them.
        input_order: 'tensor2d', or 'tensor_ragged' where K-major expert blocks follow one another.
        acc_dtype: None or float32.
        mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; (256, 256) and None leave the choice
            to wgrad. Without effect on a CPU.
        backend: None: the first that supports the problem; 'reference' computes in plain loops.
        validate_device_data: check offsets and pointers before each run on a GPU too, which
            synchronises.
        sm_limit: most multiprocessors of a GPU that the kernel may occupy, for work beside it such
            as communication; None: all. Must be None on a CPU.
        allow_unverified: also take kernels that have been emulated and compiled, but have never run
            on a GPU like the tensors' (SM 10.0, 10.3), as WGRAD_ALLOW_UNVERIFIED=1 does.
        stream: integer handle, torch stream or CUstream; None: torch's current stream of the
            tensors' device. Must be None on a CPU.
        workspace: uint8 tensor for the kernel's mutable state, on the tensors' device, of
            get_grouped_gemm_wgrad_workspace_size_sm100(E) bytes or more; with a list in ``out``, of
            (E, output_mode="discrete").

    Returns:
        ``out`` as given, or the new (E, M, N) tensor: of torch or JAX where x is, else numpy's.
        Arrays in a GPU's memory that are not torch's need ``out``.

    The tensors are used where they lie. The one exception is a numpy array of ml_dtypes'
    float4_e2m1fn, one element per byte, which is packed first (see ``pack_fp4``).

    Raises:
        ValueError: a bad argument, by name; also a torch tensor that requires grad while gradients
            are recorded, since the result would be detached silently.
        RuntimeError: no backend runs this problem on the tensors' device; a list of outputs while
            a CUDA graph is captured.
    """
    given = {  # not locals(), which torch.compile does not follow
        "x": x,
        "dy": dy,
        "offsets": offsets,
        "out": out,
        "accumulate": accumulate,
        "out_dtype": out_dtype,
        "x_scale": x_scale,
        "dy_scale": dy_scale,
        "x_global_scale": x_global_scale,
        "dy_global_scale": dy_global_scale,
        "sf_vec_size": sf_vec_size,
        "compact_scales": compact_scales,
        "use_fast_accum": use_fast_accum,
        "input_order": input_order,
        "acc_dtype": acc_dtype,
        "mma_tiler_mn": mma_tiler_mn,
        "cluster_shape_mn": cluster_shape_mn,
        "backend": backend,
        "validate_device_data": validate_device_data,
        "sm_limit": sm_limit,
        "allow_unverified": allow_unverified,
        "stream": stream,
        "workspace": workspace,
    }
    if isinstance(x, Quantized) or isinstance(dy, Quantized):
        given = given | unwrap(given)
    if is_traced(given["x"]):
        return recorders[0](given)
    chosen = NATURAL.options(given, lambda rest: _judged(given, rest))
    if is_jax(given["x"]):
        return jax_front_end("eager").natural(given, chosen)
    try:
        return _run(given, chosen)
    except _core.ValueError as error:
        if all(reason.rule != "fp4-packing" for reason in error.reasons):
            raise
    return _run(_packed(given), chosen)


def _judged(given: dict[str, Any], chosen: _core.Options) -> _core.Call:
    """The call of these arguments under other options, for all that is wrong with it."""
    return _core.Call(_core.Api.NATURAL, chosen, _packed(given))


def _packed(given: dict[str, Any]) -> dict[str, Any]:
    """The same with packed FP4, where the operands hold one element per byte."""
    return given | {"x": packed(given["x"]), "dy": packed(given["dy"])}


def _run(given: dict[str, Any], chosen: _core.Options) -> Any:
    """One call of these arguments; None for ``out``: into a new tensor."""
    operators = cache.natural()
    out = given["out"]
    if out is not None:
        operators.run(chosen, given)
        return out
    call = _core.Call(_core.Api.NATURAL, chosen, given)
    operators.prepare(call)  # refuses before anything is allocated
    out = new_output(given["x"], call, "out", given["accumulate"], given["stream"])
    call.give_output(out)
    operators.run_call(call)
    return out
