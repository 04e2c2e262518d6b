"""The multiprocessors that the drop-in names leave to other kernels."""

from __future__ import annotations

import functools
import os
from typing import Any

from . import _core
from ._refusals import refuse

VARIABLE = "CUDNNFE_CLUSTER_OVERLAP_MARGIN"


def default_sm_limit(sm_limit: Any, sample_a: Any, argument: str) -> Any:
    """`sm_limit`; where that is None, what CUDNNFE_CLUSTER_OVERLAP_MARGIN leaves of the device.

    On a CPU, which has no multiprocessors, the variable has no say. `sample_a`, called `argument`,
    tells the device.

    Raises ValueError for a margin that is no whole number of 0 or more, or that leaves nothing.
    """
    if sm_limit is not None:
        return sm_limit
    text = os.environ.get(VARIABLE)
    if not text:
        return None
    margin = int(text) if text.isascii() and text.isdigit() else -1
    if margin < 0:
        raise refuse(VARIABLE, repr(text), "a whole number of multiprocessors, 0 or more")
    if margin == 0:
        return None
    kind, _, ordinal = _core.read_tensor(sample_a, argument).device.partition(":")
    return None if kind == "cpu" else _left(margin, _sm_count(int(ordinal)))


def _left(margin: int, count: int) -> int:
    if margin >= count:
        need = f"less than the device's {count} multiprocessors, so that some are left"
        raise refuse(VARIABLE, repr(str(margin)), need)
    return count - margin


@functools.lru_cache(maxsize=None)
def _sm_count(ordinal: int) -> int:
    return _core.cuda_device(ordinal).sm_count
