"""What is static of a call, checked as every other front end's, and stated for the custom call."""

from __future__ import annotations

import math
import mmap
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from .. import _core
from .._refusals import refuse

_SMALL = 1 << 16  # bytes that cost less to fill with zeros than to map
_NORESERVE = 0x4000  # Linux's MAP_NORESERVE, which Python names since 3.12
_APART = 1 << 44  # bytes between addresses that stand for outputs
_SOME_TOKENS = 4096  # for a number of tokens that jax.export leaves open


@dataclass(frozen=True)
class Statement:
    """A call but for its arrays. Hashable, so that JAX can keep compiled programs by it."""

    shape: tuple[int, int, int]  #: (E, M, N)
    dtype: str  #: of the output
    items: tuple[tuple[str, Any], ...] = field(repr=False)  #: attributes of the custom call
    open_tokens: bool = False  #: any T may come, as of jax.export with a symbolic one

    @property
    def fields(self) -> dict[str, Any]:
        """A copy of the attributes, by name."""
        return dict(self.items)

    @property
    def for_xla(self) -> dict[str, Any]:
        """The attributes as XLA is given them, with a key that tells statements apart."""
        typed = {name: _typed(value) for name, value in self.items}
        return typed | {"key": " ".join(f"{name}={value}" for name, value in self.items)}

    @property
    def inputs(self) -> int:
        """Arrays that are read, but for a table of addresses: a, b, offsets and scale factors."""
        fields = self.fields
        return 3 + 2 * bool(fields["scale_dtype"]) + 2 * fields["global_scale"]

    def overwriting(self) -> Statement:
        """The same of a new output, to whose zeros there is nothing to add."""
        return replace(self, items=tuple((self.fields | {"accumulate": False}).items()))

    def stored(self, a: jax.Array, b: jax.Array) -> list[jax.Array]:
        """A and B with their axes as the majors say. Where an axis of one element leaves the major
        open, the memory is the same and the shape is not.
        """
        if self.open_tokens:  # which is no axis of one element
            return [a, b]
        fields = self.fields
        rows = fields["tokens"] // (2 if fields["a_dtype"] == "float4_e2m1fn_x2" else 1)
        widths = ((a, fields["a_major"], fields["m"]), (b, fields["b_major"], fields["n"]))
        return [
            each.reshape((width, rows) if major == "k" else (rows, width))
            for each, major, width in widths
        ]

    @property
    def divisible(self) -> bool:
        """Whether tokens and features can be divided: scale factors and ragged blocks cannot."""
        if self.open_tokens:
            return False
        return self.inputs == 3 and self.fields["input_order"] == "tensor2d"


def _typed(value: Any) -> Any:
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int64(value) if isinstance(value, int) else value


@dataclass(frozen=True)
class Like:
    """A tensor of a call by what is static of it. Two that are equal read alike."""

    shape: tuple[Any, ...]  #: integers; T may be symbolic
    dtype: np.dtype[Any]
    turned: bool = False  #: handed over with its axes exchanged
    addresses: bool = False  #: a table of addresses, which stand for sound ones

    def stand_in(self) -> Any:
        """A numpy array for `_core` to read: a traced array has no memory, and a GPU's is not the
        host's. Zeros are sound offsets, and no page of a large array is ever touched.
        """
        shape = tuple(each if _is_known(each) else _SOME_TOKENS for each in self.shape)
        if self.addresses:
            return _APART * np.arange(1, 1 + math.prod(shape), dtype=np.int64).reshape(shape)
        zeros = _zeros(shape, self.dtype)
        return zeros.T if self.turned else zeros


def like(array: Any, turned: bool = False) -> Like:
    """What is static of `array`."""
    return Like(tuple(array.shape), np.dtype(array.dtype), turned)


def _zeros(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    size = dtype.itemsize * math.prod(shape)
    if size <= _SMALL:
        return np.zeros(shape, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype).reshape(shape)


def _is_known(extent: Any) -> bool:
    return not jax.export.is_symbolic_dim(extent)


def checked(
    api: _core.Api,
    options: _core.Options,
    pointers: bool,
    **tensors: Like | None,
) -> Statement:
    """The Statement of a call with tensors like `tensors`, by the core's names.

    Raises:
        ValueError: tensors that do not fit together, a problem that no device computes, or an extent
            other than T that is symbolic.
        RuntimeError: the platform that JAX uses lacks what it takes.
    """
    given = tuple((name, each) for name, each in tensors.items() if each is not None)
    return _checked(api, options, pointers, given, jax.default_backend())


@lru_cache(maxsize=4096)
def _checked(
    api: _core.Api,
    options: _core.Options,  # whose equality is identity: wgrad keeps one for each set of values
    pointers: bool,
    tensors: tuple[tuple[str, Like], ...],
    platform: str,
) -> Statement:
    open_tokens = _has_open_tokens(api, dict(tensors))
    given = {_core.argument(api, field): each.stand_in() for field, each in tensors}
    contract = _core.Call(api, options, given, pointers, holds_data=False).contract()
    _require(contract, api, platform)
    items = tuple(contract.values.items())
    return Statement(contract.wgrad_shape, contract.wgrad_dtype, items, open_tokens)


def _has_open_tokens(api: _core.Api, tensors: dict[str, Like]) -> bool:
    """Whether T is symbolic. Raises ValueError for any other extent that is, and for two Ts."""
    if all(_is_known(extent) for each in tensors.values() for extent in each.shape):
        return False
    tokens = []
    for field, each in tensors.items():
        axis = {"a": 0 if api == _core.Api.NATURAL else 1, "b": int(each.turned)}.get(field)
        for at, extent in enumerate(each.shape):
            if at == axis:
                tokens.append(extent)
            elif not _is_known(extent):
                need = "of known extents: only the number of tokens may be symbolic"
                raise refuse(_core.argument(api, field), f"of shape {each.shape}", need)
    if len(tokens) == 2 and tokens[0] != tokens[1]:
        need = f"as long as {_core.argument(api, 'a')}: {tokens[0]} tokens"
        raise refuse(_core.argument(api, "b"), f"{tokens[1]} tokens long", need)
    return True


def _require(contract: _core.Contract, api: _core.Api, platform: str) -> None:
    if platform != "gpu":
        return contract.require_support(api)
    support = contract.support(api, _core.cuda_device(jax.local_devices()[0].local_hardware_id or 0))
    if not support:
        bad = any(reason.bad_argument for reason in support.reasons)
        error = (_core.ValueError if bad else _core.RuntimeError)(f"wgrad: {support}")
        error.reasons = tuple(support.reasons)
        raise error
