"""How large a caller's workspace is."""

from __future__ import annotations

from typing import Any

from . import _core
from ._checks import whole
from ._refusals import refuse, shown, unknown


def get_grouped_gemm_wgrad_workspace_size_sm100(
    num_experts: int, *, output_mode: str = "dense", input_order: Any = "tensor2d"
) -> int:
    """Bytes of a descriptor_workspace that serves any operator of these choices, at least 1.

    Args:
        num_experts: E, 1 or more.
        output_mode: 'dense' or 'discrete'.
        input_order: 'tensor2d' or 'tensor_ragged'.

    Raises:
        ValueError: num_experts below 1; an unknown output_mode or input_order.
    """
    experts = whole(num_experts)
    if experts is None or not 0 < experts < 2**31:
        need = "an integer from 1 to 2147483647: num_experts must be positive"
        raise refuse("num_experts", shown(num_experts), need)
    if output_mode not in ("dense", "discrete"):
        raise unknown("output_mode", output_mode, "'dense' or 'discrete'")
    order = getattr(input_order, "value", input_order)
    if order not in ("tensor2d", "tensor_ragged"):
        raise unknown("input_order", order, "'tensor2d' or 'tensor_ragged'")
    return _core.workspace_bytes(experts, output_mode == "discrete")
