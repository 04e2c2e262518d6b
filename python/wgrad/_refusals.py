"""The sentence of a refusal."""

from __future__ import annotations

from typing import Any

from . import _core


def refuse(argument: str, got: str, need: str) -> _core.ValueError:
    """The error for one bad argument, in the sentence that C++ uses too."""
    reason = _core.Reason("argument", argument, got, need)
    error = _core.ValueError(f"wgrad: {reason}")
    error.reasons = (reason,)
    return error


def shown(value: Any) -> str:
    """`value` in a refusal: its repr, or where that cannot be had, its type."""
    try:
        return repr(value)
    except Exception:
        return f"a {type(value).__name__}"
