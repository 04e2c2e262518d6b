"""Everything but tensors of a call, checked once and remembered."""

from __future__ import annotations

import enum
import operator
from typing import Any, Callable, TypeVar

from . import _core, cache
from ._dtypes import dtype_name
from ._refusals import refusal, refuse, shown

_INT32_MAX = 2**31 - 1
_MOST_REMEMBERED = 1024
_Read = TypeVar("_Read")


def _build(
    mma_tiler_mn: Any,
    cluster_shape_mn: Any,
    sf_vec_size: Any,
    input_order: Any,
    accumulate: Any,
    wgrad_dtype: Any,
    acc_dtype: Any,
    sf_fp8_dtype_override: Any,
    compact_scales: Any,
    backend: Any,
    validate_device_data: Any,
    sm_limit: Any,
    natural: bool = False,
) -> _core.Options:
    read = _Reader()
    options = _core.Options(
        mma_tiler_mn=read((256, 256), _pair, mma_tiler_mn, "mma_tiler_mn"),
        cluster_shape_mn=read(None, _cluster, cluster_shape_mn),
        sf_vec_size=read(None, _vec_size, sf_vec_size),
        scale_layout="compact" if read(False, flag, compact_scales, "compact_scales") else "swizzled",
        input_order=read("tensor2d", _input_order, input_order),
        accumulate=read(False, _accumulate, accumulate, natural),
        wgrad_dtype=read(None, _float, wgrad_dtype, "out_dtype" if natural else "wgrad_dtype"),
        acc_dtype=read(None, _float, acc_dtype, "acc_dtype"),
        sf_fp8_dtype_override="" if sf_fp8_dtype_override is None else repr(sf_fp8_dtype_override),
        backend=read("", backend_name, backend),
        validate_device_data=read(False, flag, validate_device_data, "validate_device_data"),
        sm_limit=read(0, _limit, sm_limit),
    )
    if read.reasons:
        raise OptionsRefused(read.reasons, options)
    return options


class OptionsRefused(Exception):
    """Options that make no sense, and those that the rest of the call can be judged with."""

    def __init__(self, reasons: list[_core.Reason], rest: _core.Options) -> None:
        super().__init__(reasons)
        self.reasons = reasons
        self.rest = rest


class _Reader:
    """Reads values, and gathers what is refused of them."""

    def __init__(self) -> None:
        self.reasons: list[_core.Reason] = []

    def __call__(self, otherwise: Any, parse: Callable[..., Any], *args: Any) -> Any:
        try:
            return parse(*args)
        except _core.ValueError as error:
            self.reasons.extend(error.reasons)
            return otherwise


def options_of(values: tuple[Any, ...], judge: Callable[[_core.Options], object]) -> _core.Options:
    """The Options of `values`; `judge` reads the rest of the call, to refuse it together with them.

    Raises:
        ValueError: options that make no sense, and what judge() refuses.
    """
    try:
        return _remembered(values)
    except OptionsRefused as refused:
        reasons = list(refused.reasons)
        try:
            rest = judge(refused.rest)
            if isinstance(rest, _core.Request):
                rest.require_support()
        except (_core.ValueError, _core.RuntimeError) as error:
            reasons += [reason for reason in error.reasons if reason not in reasons]
        raise refusal(reasons) from None


def read_with(values: tuple[Any, ...], read: Callable[[_core.Options], _Read]) -> _Read:
    """read() with the options of `values`; what it refuses is told together with bad options."""
    return read(options_of(values, read))


def _remembered(values: tuple[Any, ...]) -> _core.Options:
    """The Options of the values of _build(), in its order; `natural` True uses the argument names
    of grouped_wgrad in messages. Raises OptionsRefused for those that make no sense.
    """
    try:
        kept = cache.options.get(values)
    except TypeError:  # a list instead of a tuple has no hash
        return _build(*values)
    # Equal is not enough: 1 == True, and a refusal must not depend on earlier calls.
    if kept is None or not all(map(operator.is_, kept[0], values)):
        if not all(map(_is_constant, values)):
            return _build(*values)
        if len(cache.options) >= _MOST_REMEMBERED:
            cache.options.clear()
        kept = cache.options[values] = (values, _build(*values))
    return kept[1]


def options(*values: Any) -> _core.Options:
    """The Options of `values`, of a call that has nothing else to judge. Raises ValueError."""
    return options_of(values, lambda chosen: None)


def _is_constant(value: Any) -> bool:
    """Whether nobody can change `value` under us, as one can a tensor, whose hash stays the same."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    if value is None or isinstance(value, (int, str, enum.Enum, type)):
        return True
    return any(base.__name__ == "dtype" for base in type(value).__mro__)  # numpy's and torch's


def backend_name(backend: Any) -> str:
    """"": whichever supports the problem. Raises ValueError for what cannot be a name."""
    if backend is None or (isinstance(backend, str) and backend.isprintable()):
        return backend or ""
    raise refuse("backend", repr(backend), "None or the name of a backend, such as 'cpu'")


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


def _pair(value: Any, argument: str) -> tuple[int, int]:
    numbers = pair(value)
    if numbers is None:
        raise refuse(argument, shown(value), "a pair of integers (M, N)")
    return numbers


def _cluster(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    shape = _pair(value, "cluster_shape_mn")
    if 0 in shape:  # the core's "wgrad chooses"
        raise refuse("cluster_shape_mn", repr(shape), "None or a pair of powers of two")
    return shape


def _vec_size(value: Any) -> int | None:
    if value is None:
        return None
    number = _int32(value)
    if number is None:
        raise refuse("sf_vec_size", shown(value), "16 or 32")
    return number


def _limit(value: Any) -> int:
    if value is None:
        return 0
    number = _int32(value)
    if number is None or number <= 0:
        raise refuse("sm_limit", shown(value), "None or a positive number of multiprocessors")
    return number


def flag(value: Any, argument: str) -> bool:
    if value is True or value is False:
        return value
    if type(value).__name__ in ("bool_", "bool"):  # numpy's
        return bool(value)
    raise refuse(argument, shown(value), "True or False")


def _accumulate(value: Any, natural: bool) -> bool:
    if isinstance(value, (list, tuple)):
        need = "True or False for all experts: to accumulate some only, zero the others' outputs first"
        raise refuse("accumulate" if natural else "accumulate_on_output", shown(value), need)
    return flag(value, "accumulate" if natural else "accumulate_on_output")


def _input_order(value: Any) -> str:
    order = str(getattr(value, "value", value))
    _core.Options(input_order=order)  # knows its names
    return order


def _float(dtype: Any, argument: str) -> str | None:
    if dtype is None:
        return None
    name = dtype_name(dtype, argument)
    if name in ("bfloat16", "float16", "float32"):
        return name
    need = "float32" if argument == "acc_dtype" else "bfloat16, float16 or float32"
    raise refuse(argument, name, need)
