"""One spelling for the dtypes of every framework."""

from __future__ import annotations

from typing import Any

from ._refusals import refuse, shown

_BY_NAME = {
    name: name
    for name in (
        "bfloat16",
        "float16",
        "float32",
        "float64",
        "uint8",
        "int8",
        "int32",
        "int64",
        "bool",
        "float8_e4m3fn",
        "float8_e5m2",
        "float8_e8m0fnu",
        "float4_e2m1fn",
        "float4_e2m1fn_x2",
    )
}
_ALIASES = {
    "half": "float16",
    "float": "float32",
    "double": "float64",
    "float8e4m3fn": "float8_e4m3fn",
    "float8e5m2": "float8_e5m2",
    "float8e8m0fnu": "float8_e8m0fnu",
    "float4e2m1fn": "float4_e2m1fn",
}


def dtype_name(dtype: Any, argument: str) -> str:
    """The canonical name of a torch, numpy, ml_dtypes, JAX or CUTLASS dtype, or of a name.

    Raises ValueError that names `argument` for anything else.
    """
    for text in _spellings(dtype):
        text = text.removeprefix("torch.").lower()
        name = _BY_NAME.get(text) or _ALIASES.get(text)
        if name is not None:
            return name
    need = "a dtype such as 'bfloat16' or 'float32' (Unsupported tensor data type.)"
    raise refuse(argument, shown(dtype), need)


def _spellings(dtype: Any) -> list[str]:
    """What `dtype` may be called: its own text, numpy's name, a class's name."""
    if dtype is None:
        return []
    found = [str(dtype)]
    for attribute in ("name", "__name__"):
        text = getattr(dtype, attribute, None)
        if isinstance(text, str):
            found.append(text)
    if isinstance(dtype, str):
        found.append(_numpy_name(dtype))
    return found


def _numpy_name(text: str) -> str:
    """numpy's own aliases, such as "f4"."""
    try:
        import numpy

        return str(numpy.dtype(text).name)
    except (ImportError, TypeError):
        return text
