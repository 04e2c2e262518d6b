"""The result type of the drop-in functions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any


class TupleDict(dict[str, Any]):
    """A dict that also unpacks like a tuple.

    ``d["wgrad_tensor"]`` and ``d[0]`` give the same value, ``w, = d`` unpacks, and iteration yields
    the values in the order of construction. ``in``, ``len``, ``keys()``, ``items()`` and ``**d``
    are a plain dict's. A key added later has no position; one taken away leaves none.

    Raises KeyError for an unknown name, IndexError for a position outside ``0 .. len - 1``.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._order = tuple(self.keys())

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, bool):
            raise KeyError(f"{key} is neither a name nor a position")
        if isinstance(key, int):
            order = self._placed()
            if not 0 <= key < len(order):
                raise IndexError(f"index {key} out of range for TupleDict with {len(order)} items")
            key = order[key]
        return super().__getitem__(key)

    def __iter__(self) -> Iterator[Any]:
        return (super(TupleDict, self).__getitem__(key) for key in self._placed())

    def _placed(self) -> tuple[str, ...]:
        """The keys that have a position: those of the construction that are still there."""
        return tuple(key for key in self._order if key in self)


def _flatten(result: TupleDict) -> tuple[list[Any], tuple[str, ...]]:
    return list(result), result._placed()


def _unflatten(values: Any, keys: tuple[str, ...]) -> TupleDict:
    return TupleDict(zip(keys, values))


_registered: set[str] = set()


def register_pytrees() -> None:
    """Makes TupleDict a pytree node of torch and of JAX, for those of the two that are loaded."""
    torch_pytree = sys.modules.get("torch.utils._pytree")
    if torch_pytree is not None and "torch" not in _registered:
        _registered.add("torch")
        torch_pytree.register_pytree_node(
            TupleDict, _flatten, _unflatten, serialized_type_name="wgrad.TupleDict"
        )
    jax_tree = sys.modules.get("jax.tree_util")
    if jax_tree is not None and "jax" not in _registered:
        _registered.add("jax")
        jax_tree.register_pytree_node(TupleDict, _flatten, lambda keys, v: _unflatten(v, keys))
