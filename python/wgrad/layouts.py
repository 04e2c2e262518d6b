"""``tensor_layouts``: tensors handed over as plain memory, beside what they are."""

from __future__ import annotations

from typing import Any

from ._refusals import refuse, shown

_NAMES = ("a_tensor", "b_tensor", "sfa_tensor", "sfb_tensor", "wgrad_tensor")
_NEED = "a dict of (shape, strides, dtype) by name, of " + ", ".join(_NAMES)


def checked(layouts: Any) -> dict[str, Any]:
    """`layouts` as a dict; None: empty. Raises ValueError for another thing or name."""
    if layouts is None:
        return {}
    if not isinstance(layouts, dict) or not set(layouts) <= set(_NAMES):
        raise refuse("tensor_layouts", shown(layouts), _NEED)
    return layouts


def views(
    layouts: Any, given: dict[str, Any], names: dict[str, str] | None = None
) -> dict[str, Any]:
    """The tensors among `given` as `layouts` describes them, for the arguments that hold them:
    `names`, by the names of the layouts where those differ. Raises what checked() and described() do.
    """
    known = checked(layouts)
    holders = names or {name: name for name in _NAMES}
    return {holder: described(known, name, given[holder]) for name, holder in holders.items()}


def described(layouts: dict[str, Any], name: str, tensor: Any) -> Any:
    """`tensor` as the view that `layouts` describes; itself where it says nothing.

    The memory is a torch tensor's, one-dimensional or of any shape, of the dtype or of uint8.

    Raises:
        ValueError: no torch tensor; a layout that is no triple, or reaches past the memory.
    """
    layout = layouts.get(name)
    if layout is None or tensor is None:
        return tensor
    argument = f"tensor_layouts[{name!r}]"
    if not hasattr(tensor, "as_strided"):
        raise refuse(name, f"a {type(tensor).__name__}", "a torch tensor beside tensor_layouts")
    try:
        shape, strides, dtype = layout
        shape, strides = tuple(map(int, shape)), tuple(map(int, strides))
    except (TypeError, ValueError) as error:
        raise refuse(argument, shown(layout), "(shape, strides, dtype)") from error
    if len(shape) != len(strides) or min((*shape, *strides), default=0) < 0:
        raise refuse(argument, shown(layout), "of as many strides as extents, none negative")
    memory = tensor if tensor.dtype == dtype else tensor.view(dtype)
    reach = sum((extent - 1) * step for extent, step in zip(shape, strides)) + 1
    if 0 not in shape and reach > memory.numel():
        need = f"within the tensor's {memory.numel()} elements"
        raise refuse(argument, f"{shown(layout)}, {reach} elements long", need)
    return memory.as_strided(shape, strides, memory.storage_offset())
