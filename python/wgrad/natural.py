"""The natural spelling, for token-major activations."""

from __future__ import annotations

from typing import Any

from . import _core, cache
from ._options import options_of
from ._tensors import is_jax, is_traced, jax_front_end, new_output
from .quantize import Quantized, packed, unwrap


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
    input_order: Any = "tensor2d",
    acc_dtype: Any = None,
    mma_tiler_mn: tuple[int, int] = (256, 256),
    cluster_shape_mn: tuple[int, int] | None = None,
    backend: str | None = None,
    validate_device_data: bool = False,
    sm_limit: int | None = None,
    stream: Any = None,
    workspace: Any = None,
) -> Any:
    """Weight gradient of every expert: ``out[e] = x[begin:end].T @ dy[begin:end]``.

    Args:
        x: (T, M) activations, tokens sorted by expert; bfloat16 or float16 with one contiguous
            axis, or a block-scaled operand: a ``Quantized``, or its elements with ``x_scale``.
            FP8 is (T, M); packed FP4 is (T/2, M) with tokens contiguous, two per byte.
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
            layout, 2-D (round_up(rows, 128), cols) or flat, of M rows for x and N for dy;
            (rows, cols) with ``compact_scales``.
        x_global_scale, dy_global_scale: (E,) float32; NVFP4 needs them.
        sf_vec_size: tokens a scale factor covers. Default: 16 for float8_e4m3fn scale factors,
            else 32; uint8 scale factors of FP4 need it given.
        acc_dtype: float32, nothing else.
        input_order: 'tensor2d', or 'tensor_ragged' where K-major expert blocks follow one another.
        mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; by default wgrad chooses.
        backend: None: the first that supports the problem; 'reference' computes in plain loops.
        validate_device_data: check offsets before the run on a GPU too, which synchronises.
        sm_limit: most multiprocessors of a GPU that the kernel may occupy, for work beside it
            such as communication; None: all. Must be None on a CPU.
        stream: CUDA stream as integer, torch stream or CUstream. Default: torch's current stream of
            the tensors' device; must be None on a CPU.
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
    if isinstance(x, Quantized) or isinstance(dy, Quantized):
        x, dy, x_scale, dy_scale, x_global_scale, dy_global_scale, compact_scales = unwrap(
            x, dy, x_scale, dy_scale, x_global_scale, dy_global_scale, compact_scales
        )
    if is_traced(x):
        from .recorded import record

        return record(dict(locals()))
    scales = (x_scale, dy_scale, x_global_scale, dy_global_scale)
    choices = (
        mma_tiler_mn,
        cluster_shape_mn,
        sf_vec_size,
        input_order,
        accumulate,
        out_dtype,
        acc_dtype,
        None,
        compact_scales,
        backend,
        validate_device_data,
        sm_limit,
        True,
    )
    chosen = options_of(
        choices,
        lambda rest: _read(packed(x), packed(dy), offsets, scales, rest, out, stream, workspace),
    )
    if is_jax(x):
        return jax_front_end("eager").natural(locals(), chosen)
    try:
        return _run(x, dy, offsets, scales, chosen, out, accumulate, stream, workspace)
    except _core.ValueError as error:
        if all(reason.rule != "fp4-packing" for reason in error.reasons):
            raise
    x, dy = packed(x), packed(dy)
    return _run(x, dy, offsets, scales, chosen, out, accumulate, stream, workspace)


def _read(
    x: Any,
    dy: Any,
    offsets: Any,
    scales: tuple[Any, Any, Any, Any],
    chosen: _core.Options,
    out: Any,
    stream: Any,
    workspace: Any,
) -> _core.Request:
    sfa, sfb, gsa, gsb = scales
    separate = isinstance(out, (list, tuple))
    return _core.Request(
        _core.Api.NATURAL,
        x,
        dy,
        sfa,
        sfb,
        offsets,
        None if separate else out,
        out if separate else None,
        gsa,
        gsb,
        workspace,
        chosen,
        separate,
        stream,
    )


def _run(
    x: Any,
    dy: Any,
    offsets: Any,
    scales: tuple[Any, Any, Any, Any],
    chosen: _core.Options,
    out: Any,
    accumulate: bool,
    stream: Any,
    workspace: Any,
) -> Any:
    """One call; None for ``out``: into a new tensor."""
    operators = cache.natural()
    if out is None:
        request = _read(x, dy, offsets, scales, chosen, None, stream, workspace)
        operators.prepare(request)  # refuses before anything is allocated
        out = new_output(x, request, "out", accumulate, stream)
        request.give_output(out)
        operators.run_request(request)
        return out
    sfa, sfb, gsa, gsb = scales
    separate = isinstance(out, (list, tuple))
    whole, parts = (None, out) if separate else (out, None)
    operators.run(
        x, dy, sfa, sfb, offsets, whole, parts, gsa, gsb, chosen, separate, stream, workspace
    )
    return out
