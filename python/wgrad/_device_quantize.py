"""quantize() of torch tensors on a CUDA device: outputs are torch's, the work is on its current stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core, _torch_calls
from ._refusals import refuse

_SOURCES = ("bfloat16", "float16", "float32")


def parts(
    sources: Sequence[tuple[str, Any]],
    offsets: Any,
    format: str,
    element: str,
    major: str,
    options: dict[str, Any],
    global_scales: Sequence[Any],
) -> list[tuple[Any, Any, Any]]:
    """(elements, scales, global scales) of each source, which one launch quantises.

    `sources`: arguments and their (T, rows) tensors, one or two. `options`: what _core.quantize
    takes by these names. `global_scales`: one for each, or None.
    """
    tensors = [_source(name, x) for name, x in sources]
    first = tensors[0]
    _check_alike(sources, tensors)
    experts = _check_offsets(offsets, first)
    fp4 = format != "mxfp8"
    tokens = first.shape[0]
    if fp4 and tokens % 2 != 0:
        raise refuse("tokens", str(tokens), "even for packed FP4")
    vec_size = 16 if format == "nvfp4" else 32
    cols = _core.device_scale_cols(tokens, experts, vec_size, options["layout"])
    new = _torch_calls.device_bytes
    elements, scales, factors = [], [], []
    for x in tensors:
        rows = x.shape[1]
        stored = tokens // 2 if fp4 else tokens
        scale_rows = rows if options["layout"] == "compact" else -(-rows // 128) * 128
        elements.append(new(first, (rows, stored) if major == "k" else (stored, rows)))
        scales.append(new(first, (scale_rows, cols)))
        factors.append(new(first, (4 * experts,)) if format == "nvfp4" else None)
    given = [_given(g, first, experts) for g in global_scales]
    workspace = new(first, (_core.quantize_workspace_bytes(experts),))
    _core.quantize_on_device(
        tensors, offsets, format, element, major, **options, global_scales=given,
        elements=elements, scales=scales, global_scales_out=factors, workspace=workspace,
    )  # fmt: skip
    return [
        (e.T if major == "k" else e, s, None if g is None else _torch_calls.seen_as(g, "float32"))
        for e, s, g in zip(elements, scales, factors)
    ]


def _source(name: str, x: Any) -> Any:
    if not _torch_calls.is_dense(x):
        raise refuse(name, _torch_calls.layout_text(x), "a strided tensor")
    if x.ndim != 2:
        raise refuse(name, f"of shape {tuple(x.shape)}", "2-D, (T, rows)")
    if _torch_calls.dtype_text(x) not in _SOURCES:
        need = "bfloat16, float16 or float32 on a CUDA device"
        raise refuse(name, _torch_calls.dtype_text(x), need)
    return _torch_calls.plain_values(x)


def _check_alike(sources: Sequence[tuple[str, Any]], tensors: list[Any]) -> None:
    """A pair shares its tokens, its dtype and its device."""
    (first_name, first), (name, last) = sources[0], sources[-1]
    if last.device != first.device:
        need = f"on {first_name}'s device, {first.device}"
        raise refuse(name, f"on {last.device}", need)
    if last.dtype != first.dtype:
        need = f"{_torch_calls.dtype_text(first)}, as {first_name} is"
        raise refuse(name, _torch_calls.dtype_text(last), need)
    if last.shape[0] != first.shape[0]:
        raise refuse(name, f"{last.shape[0]} tokens", f"{first.shape[0]}, as {first_name} has")


def _check_offsets(offsets: Any, x: Any) -> int:
    """The number of experts."""
    view = _core.read_tensor(offsets, "offsets")
    if view.device != f"cuda:{x.device.index}":
        raise refuse("offsets", f"on {view.device}", f"on x's device, {x.device}")
    if view.rank != 1 or view.dtype != "int32" or not offsets.is_contiguous():
        got = f"{view.dtype} of shape {tuple(offsets.shape)}"
        raise refuse("offsets", got, "a contiguous int32 tensor of shape (E,)")
    return int(offsets.shape[0])


def _given(scale: Any, x: Any, experts: int) -> Any:
    if scale is None:
        return None
    view = _core.read_tensor(scale, "global_scale")
    if view.device != f"cuda:{x.device.index}":
        raise refuse("global_scale", f"on {view.device}", f"on x's device, {x.device}")
    if view.dtype != "float32" or tuple(scale.shape) != (experts,) or not scale.is_contiguous():
        got = f"{view.dtype} of shape {tuple(scale.shape)}"
        raise refuse("global_scale", got, f"a contiguous float32 tensor of shape ({experts},)")
    return scale
