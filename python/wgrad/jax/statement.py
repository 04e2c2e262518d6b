"""What is static of a call, checked as every other front end's, and stated for the custom call."""

from __future__ import annotations

import math
import mmap
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import jax
import numpy as np

from .. import _core

_SMALL = 1 << 16  # bytes that cost less to fill with zeros than to map
_NORESERVE = 0x4000  # Linux's MAP_NORESERVE, which Python names since 3.12


@dataclass(frozen=True)
class Statement:
    """A call but for its arrays. Hashable, so that JAX can keep compiled programs by it."""

    shape: tuple[int, int, int]  #: (E, M, N)
    dtype: str  #: of the output
    items: tuple[tuple[str, Any], ...] = field(repr=False)  #: attributes of the custom call

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
        return self.inputs == 3 and self.fields["input_order"] == "tensor2d"


def _typed(value: Any) -> Any:
    if isinstance(value, bool):
        return np.bool_(value)
    return np.int64(value) if isinstance(value, int) else value


def stand_in(array: Any) -> Any:
    """A numpy array of zeros of the shape and dtype of `array`, for `_core` to read.

    A traced array has no memory and a GPU's is not the host's. Zeros are sound offsets, and no page
    of a large one is ever touched.
    """
    dtype = np.dtype(array.dtype)
    size = dtype.itemsize * math.prod(array.shape)
    if size <= _SMALL:
        return np.zeros(array.shape, dtype)
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE
    return np.frombuffer(mmap.mmap(-1, size, flags=flags), dtype).reshape(array.shape)


def checked(
    api: _core.Api,
    options: _core.Options,
    pointers: bool,
    chosen: Mapping[str, Any],
    **tensors: Any,
) -> Statement:
    """The Statement of a call with tensors like `tensors`, by the core's names.

    `options` hold backend, sm_limit and validate_device_data too; `chosen` tells them by name.

    Raises:
        ValueError: tensors that do not fit together, or a problem that no device computes.
        RuntimeError: the platform that JAX uses lacks what it takes.
    """
    given = {_core.argument(api, field): tensor for field, tensor in tensors.items()}
    contract = _core.Call(api, options, given, pointers, holds_data=False).contract()
    _require(contract, api)
    fields = _fields(contract.problem)
    fields["backend"] = chosen.get("backend") or ""
    fields["sm_limit"] = chosen.get("sm_limit") or 0
    fields["validate_device_data"] = bool(chosen.get("validate_device_data"))
    return Statement(contract.wgrad_shape, contract.wgrad_dtype, tuple(fields.items()))


def _require(contract: _core.Contract, api: _core.Api) -> None:
    if jax.default_backend() != "gpu":
        return contract.require_support(api)
    support = contract.support(api, _core.cuda_device(jax.local_devices()[0].local_hardware_id or 0))
    if not support:
        bad = any(reason.bad_argument for reason in support.reasons)
        error = (_core.ValueError if bad else _core.RuntimeError)(f"wgrad: {support}")
        error.reasons = tuple(support.reasons)
        raise error


def _fields(problem: _core.Problem) -> dict[str, Any]:
    """Those of the problem, as python/jax_ffi/attributes.cpp reads them."""
    scaled = problem.scale_dtype is not None
    tile_m, tile_n = problem.mma_tiler_mn
    cluster_m, cluster_n = problem.cluster_shape_mn or (0, 0)
    return {
        "experts": problem.experts,
        "m": problem.m,
        "n": problem.n,
        "tokens": problem.tokens,
        "a_dtype": problem.a_dtype,
        "b_dtype": problem.b_dtype,
        "a_major": problem.a_major,
        "b_major": problem.b_major,
        "input_order": problem.input_order,
        "scale_dtype": problem.scale_dtype or "",
        "sf_vec_size": (problem.sf_vec_size or 0) if scaled else 0,
        "scale_layout": problem.scale_layout if scaled else "swizzled",
        "global_scale": bool(problem.global_scale),
        "wgrad_dtype": problem.wgrad_dtype,
        "output_mode": problem.output_mode,
        "accumulate": problem.accumulate,
        "tile_m": tile_m,
        "tile_n": tile_n,
        "cluster_m": cluster_m,
        "cluster_n": cluster_n,
    }
