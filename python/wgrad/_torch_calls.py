"""All that wgrad asks of torch; imported once a torch tensor has been seen."""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from . import _core
from ._refusals import refuse
from .tuple_dict import register_pytrees

register_pytrees()

_DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


def grad_enabled() -> bool:
    """Whether operations on tensors are recorded for autograd."""
    return torch.is_grad_enabled()


#: What a tensor must be that requires grad; the C++ side says it in these words too.
DETACH = (
    "detached, or used under torch.no_grad() as in a backward pass: wgrad computes a gradient and "
    "records none"
)


def _mark_one_by_one(tensors: list[torch.Tensor]) -> None:
    for tensor in tensors:
        torch.autograd.graph.increment_version(tensor)


def _marks_many() -> bool:
    """Whether this torch takes several tensors in one call, as 2.5 and later do."""
    try:
        torch.autograd.graph.increment_version([])
    except RuntimeError:
        return False
    return True


#: Tells autograd that tensors were written; one of torch.inference_mode() has no version to count.
mark_written = torch.autograd.graph.increment_version if _marks_many() else _mark_one_by_one


def torch_dtype(name: str) -> torch.dtype:
    """torch's dtype of a canonical name; uint8 where this torch has none of that name."""
    dtype: torch.dtype = getattr(torch, name, torch.uint8)
    return dtype


def new_output(
    like: torch.Tensor, shape: tuple[int, int, int], dtype: str, zero: bool, stream: Any
) -> torch.Tensor:
    """A packed tensor beside `like`, zeros or uninitialised, taken on the launch stream."""
    make = torch.zeros if zero else torch.empty
    with _launch_stream(stream, like):
        return make(shape, dtype=_DTYPES[dtype], device=like.device)


def new_workspace(size: int, ordinal: int, handle: int | None) -> torch.Tensor:
    """`size` bytes of any contents on CUDA device `ordinal`, taken on stream `handle`.

    None: on torch's current one.
    """
    device = torch.device("cuda", ordinal)
    if handle is None:
        return torch.empty(size, dtype=torch.uint8, device=device)
    with torch.cuda.stream(as_stream(handle, device)):
        return torch.empty(size, dtype=torch.uint8, device=device)


def _launch_stream(stream: Any, like: torch.Tensor) -> contextlib.AbstractContextManager[Any]:
    """What runs within it runs on `stream` of the device of `like`; None: on torch's current one."""
    if stream is None or not like.is_cuda:
        return contextlib.nullcontext()
    return torch.cuda.stream(as_stream(stream, like.device))


def as_stream(stream: Any, device: torch.device) -> torch.cuda.Stream:
    """torch's stream of a handle, a torch stream or a CUstream."""
    if isinstance(stream, torch.cuda.Stream):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        stream = (protocol() if callable(protocol) else protocol)[1]
    handle = int(stream)
    if handle == 2:
        raise refuse("stream", "2, the per-thread stream", "a stream that torch can name")
    if handle in (0, 1):  # the legacy default stream
        return torch.cuda.default_stream(device)
    return torch.cuda.ExternalStream(handle, device=device)  # type: ignore[no-untyped-call]


def current_stream(ordinal: int) -> int:
    """Handle of torch's current stream on CUDA device `ordinal`."""
    return int(torch.cuda.current_stream(ordinal).cuda_stream)


def record_stream(tensor: torch.Tensor, handle: int, ordinal: int) -> None:
    """Keeps the memory of `tensor` from being reused before stream `handle` gets past now."""
    tensor.record_stream(as_stream(handle, torch.device("cuda", ordinal)))


def pointer_table(addresses: list[int], ordinal: int, handle: int) -> torch.Tensor:
    """An (E,) int64 tensor of `addresses` on CUDA device `ordinal`, filled on stream `handle`.

    Copied from pinned memory, so that nobody waits; both are torch's, which keeps them until the
    stream has used them.

    Raises:
        RuntimeError: the stream is being captured: a replay would copy whatever the pinned memory
            holds by then.
    """
    device = torch.device("cuda", ordinal)
    with torch.cuda.stream(as_stream(handle, device)):
        if torch.cuda.is_current_stream_capturing():
            raise _core.RuntimeError(
                "wgrad: out is a list of tensors and stream is being captured into a CUDA graph; "
                "it must be one tensor there, or their addresses in device memory (wgrad_ptrs of "
                "GroupedGemmWgrad)"
            )
        table = torch.tensor(addresses, dtype=torch.int64, pin_memory=True)
        return table.to(device, non_blocking=True)


def address_range(
    like: torch.Tensor, first: int, stride: int, count: int, stream: Any
) -> torch.Tensor:
    """A (count,) int64 tensor of first, first + stride, ..., filled where `like` is."""
    end = first + stride * count
    with _launch_stream(stream, like):
        return torch.arange(first, end, stride, dtype=torch.int64, device=like.device)


def to_float_numpy(tensor: torch.Tensor) -> Any:
    """A float32 numpy array of a CPU tensor; a view where it is float32 already."""
    return tensor.detach().to(torch.float32).resolve_neg().numpy()


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether the tensor's elements lie in one memory, as those of a sparse one do not."""
    return tensor.layout == torch.strided


def layout_text(tensor: torch.Tensor) -> str:
    """The name of a tensor's layout."""
    return str(tensor.layout).removeprefix("torch.")


def from_numpy(array: Any, dtype: str) -> torch.Tensor:
    """A torch tensor over the bytes of a uint8 or float32 numpy array, seen as `dtype`."""
    tensor = torch.from_numpy(array)
    return tensor if dtype == "float32" else tensor.view(torch_dtype(dtype))


def stored(tensor: torch.Tensor) -> torch.Tensor:
    """A view of the same memory, as it is stored: of a negated view what it negates."""
    plain = tensor.detach()
    return torch._neg_view(plain) if plain.is_neg() else plain


def plain_values(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its history, its values in memory as they are: a negated view is copied."""
    return tensor.detach().resolve_neg()


def device_bytes(like: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """Uninitialised bytes beside `like`, taken on torch's current stream."""
    return torch.empty(shape, dtype=torch.uint8, device=like.device)


def seen_as(tensor: torch.Tensor, dtype: str) -> torch.Tensor:
    """A view of a tensor of bytes as `dtype`; as bytes where this torch has no such dtype."""
    return tensor.view(torch_dtype(dtype))


def same_bytes(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Whether two tensors are alike, bit by bit."""
    if a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    return torch.equal(*(t.detach().contiguous().view(torch.uint8) for t in (a, b)))


def to_bytes(tensor: torch.Tensor) -> Any:
    """A uint8 numpy view of a CPU tensor of one-byte elements."""
    return tensor.detach().view(torch.uint8).numpy()


def dtype_text(tensor: torch.Tensor) -> str:
    """The canonical name of a tensor's dtype."""
    return str(tensor.dtype).removeprefix("torch.")
