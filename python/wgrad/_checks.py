"""What one argument may be; each check returns what the extension takes, or raises ValueError."""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._dtypes import dtype_name
from ._refusals import refuse, shown

_INT32_MAX = 2**31 - 1


def backend_name(backend: Any, argument: str = "backend") -> str:
    """"": whichever supports the problem. Raises ValueError for what cannot be a name."""
    if backend is None or (isinstance(backend, str) and backend.isprintable()):
        return backend or ""
    raise refuse(argument, repr(backend), "None or the name of a backend, such as 'cpu'")


def whole(value: Any) -> int | None:
    """`value` as an int; None where it is no integer, or a bool."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)
    except Exception:  # whatever a class of the caller's raises
        return None


def pair(value: Any) -> tuple[int, int] | None:
    """`value` as two ints; None where it is no sequence of two integers."""
    try:
        values = value.tolist() if hasattr(value, "tolist") else value
    except Exception:  # a tensor without values
        return None
    if not isinstance(values, (tuple, list)) or len(values) != 2:
        return None
    first, second = map(_int32, values)
    return None if first is None or second is None else (first, second)


def _int32(value: Any) -> int | None:
    number = whole(value)
    return number if number is not None and -_INT32_MAX <= number <= _INT32_MAX else None


def tile(value: Any, argument: str) -> tuple[int, int]:
    """A pair of integers (M, N)."""
    numbers = pair(value)
    if numbers is None:
        raise refuse(argument, shown(value), "a pair of integers (M, N)")
    return numbers


def cluster(value: Any, argument: str) -> tuple[int, int] | None:
    """The same, or None."""
    if value is None:
        return None
    shape = tile(value, argument)
    if 0 in shape:  # the core's "wgrad chooses"
        raise refuse(argument, repr(shape), "None or a pair of powers of two")
    return shape


def vec_size(value: Any, argument: str) -> int | None:
    """An integer, or None; which ones there are is the core's to say."""
    if value is None:
        return None
    number = _int32(value)
    if number is None:
        raise refuse(argument, shown(value), "16 or 32")
    return number


def limit(value: Any, argument: str) -> int:
    """A positive integer; 0 for None."""
    if value is None:
        return 0
    number = _int32(value)
    if number is None or number <= 0:
        raise refuse(argument, shown(value), "None or a positive number of multiprocessors")
    return number


def flag(value: Any, argument: str) -> bool:
    """True or False, of Python or numpy."""
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool_", "bool"):  # numpy's
        return bool(value)
    raise refuse(argument, shown(value), "True or False")


def accumulation(value: Any, argument: str) -> bool:
    """A flag; no list of them."""
    if isinstance(value, (list, tuple)):
        need = "True or False for all experts: to accumulate some only, zero the others' outputs first"
        raise refuse(argument, shown(value), need)
    return flag(value, argument)


def order(value: Any, argument: str) -> str:
    """The text of a string or an enumerator, of which the core knows the names."""
    text = str(getattr(value, "value", value))
    _core.Options(input_order=text)
    return text


def text_or_none(value: Any, argument: str) -> str:
    """"" for None; else what a refusal shows."""
    return "" if value is None else repr(value)


def output_dtype(value: Any, argument: str) -> str | None:
    """The name of a dtype that wgrad writes, or None."""
    return _float(value, argument, "bfloat16, float16 or float32")


def acc_dtype(value: Any, argument: str) -> str | None:
    """The name of a dtype to sum in, or None; which ones there are is the core's to say."""
    return _float(value, argument, "float32")


def _float(value: Any, argument: str, need: str) -> str | None:
    if value is None:
        return None
    name = dtype_name(value, argument)
    if name in ("bfloat16", "float16", "float32"):
        return name
    raise refuse(argument, name, need)
