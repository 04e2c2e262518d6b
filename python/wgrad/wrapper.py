"""The drop-in function: one call that checks, compiles at first use, and computes."""

from __future__ import annotations

import inspect
from typing import Any

from . import _core, cache
from ._overlap import default_sm_limit
from ._functions import OPERATOR, WRAPPER
from ._refusals import refuse
from ._tensors import is_jax, jax_front_end, new_output, refuse_traced
from .layouts import views
from .operator import GroupedGemmWgrad, GroupedGemmWgradSm100, WGradInputOrder
from .tuple_dict import TupleDict, register_pytrees

_cache_of_GroupedGemmWgradSm100Objects = cache.wrapper


def grouped_gemm_wgrad_wrapper_sm100(
    a_tensor: Any,
    b_tensor: Any,
    sfa_tensor: Any,
    sfb_tensor: Any,
    offsets_tensor: Any,
    output_mode: str = "dense",
    wgrad_tensor: Any = None,
    wgrad_ptrs: Any = None,
    global_scale_a: Any = None,
    global_scale_b: Any = None,
    acc_dtype: Any = None,
    wgrad_dtype: Any = None,
    mma_tiler_mn: tuple[int, int] = (256, 256),
    cluster_shape_mn: tuple[int, int] | None = None,
    sf_vec_size: int = 16,
    sf_fp8_dtype_override: Any = None,
    accumulate_on_output: bool = False,
    input_order: Any = WGradInputOrder.Tensor2D,
    current_stream: Any = None,
    *,
    descriptor_workspace: Any = None,
    compact_scales: bool = False,
    backend: str | None = None,
    validate_device_data: bool = False,
    sm_limit: int | None = None,
    allow_unverified: bool = False,
    tensor_layouts: Any = None,
) -> TupleDict:
    """Computes all experts' weight gradients; compiled operators are kept and reused.

    Args:
        a_tensor: (M, T), K-major or M-major; bfloat16, float16, FP8, or packed FP4 (M, T/2).
        b_tensor: (T, N), K-major or N-major, of a_tensor's dtype.
        sfa_tensor, sfb_tensor: scale factors of a block-scaled format, swizzled, 2-D
            (round_up(rows, 128), cols) or flat, of M rows for A and N for B; None for 16-bit
            operands.
        offsets_tensor: (E,) int32, the cumulative ends of the experts.
        output_mode: 'dense' or 'discrete'.
        wgrad_tensor: (E, M, N) output. None: dense mode, and discrete mode without wgrad_ptrs,
            allocate one (zeros when accumulating).
        wgrad_ptrs: (E,) int64 addresses (discrete mode), on the operands' device. With wgrad_tensor
            too, the results go through the pointers, and wgrad_tensor, whose rows must be packed
            then, is checked and returned.
        global_scale_a, global_scale_b: (E,) float32, both or neither; NVFP4 needs them.
        acc_dtype: None or float32.
        wgrad_dtype: bfloat16 (default), float16 or float32. A given wgrad_tensor's own dtype wins
            over the default; another explicit one is refused.
        mma_tiler_mn, cluster_shape_mn: the GPU kernel's tile; (256, 256) and None leave the choice
            to wgrad. Without effect on a CPU.
        sf_vec_size: tokens a scale factor covers: 16 (NVFP4), 32 or 128 (FP8 1x128); 16 for 16-bit
            operands. FP8 rowwise, which has one for all tokens: grouped_wgrad.
        sf_fp8_dtype_override: None, nothing else.
        accumulate_on_output: add to the output instead of overwriting it.
        input_order: 'tensor2d' or 'tensor_ragged'.
        current_stream: integer handle, torch stream or CUstream; None: torch's current stream of
            the tensors' device. Must be None on a CPU.
        descriptor_workspace: uint8 tensor of the queried size on the operands' device.
        compact_scales: scale factors are (M, cols) and (N, cols), unswizzled.
        backend: None: the first that supports the problem; 'reference' computes in plain loops.
        validate_device_data: check offsets and pointers before each run on a GPU too, which
            synchronises.
        sm_limit: most multiprocessors of a GPU that the kernel may occupy, for work beside it such
            as communication; None: all. Must be None on a CPU.
        allow_unverified: also take kernels that have been emulated and compiled, but have never run
            on a GPU like the tensors' (SM 10.0, 10.3), as WGRAD_ALLOW_UNVERIFIED=1 does.
        tensor_layouts: (shape, strides, dtype) by argument name, for torch tensors that are handed
            over as plain memory; a wgrad_tensor is returned as it was given.

    Returns:
        TupleDict(wgrad_tensor=...): the tensor written; with wgrad_ptrs alone, None.

    Raises:
        ValueError: a bad argument, by name.
        RuntimeError: no backend of this build runs it on the tensors' device.
    """
    if output_mode != "dense" and output_mode != "discrete":
        need = f"'dense' or 'discrete' (unsupported output_mode {output_mode!r})"
        words = 'output_mode must be "dense" or "discrete"'
        raise refuse("output_mode", repr(output_mode), f"{need}: {words}")
    if output_mode == "dense" and wgrad_ptrs is not None:
        raise refuse("wgrad_ptrs", "given", "None: dense output_mode forbids wgrad_ptrs")
    refuse_traced(a_tensor, "grouped_gemm_wgrad_wrapper_sm100")
    given = locals()
    if tensor_layouts is not None:
        given = given | views(tensor_layouts, given) | {"tensor_layouts": None}
    limit = default_sm_limit(sm_limit, given["a_tensor"], "a_tensor")
    if limit is not sm_limit:
        given = given | {"sm_limit": limit}
    if is_jax(given["a_tensor"]):
        result: TupleDict = jax_front_end("eager").wrapper(given, WRAPPER.options(given))
        return result
    call = _read(given)
    key = (output_mode, call.key)
    operator = cache.wrapper.get(key) or _of_other_majors(output_mode, call)
    if operator is None:
        # Refused here, so that messages use this function's argument names.
        call.require_support()
    if wgrad_tensor is None and wgrad_ptrs is None:
        wgrad_tensor = new_output(
            given["a_tensor"], call, "wgrad_tensor", accumulate_on_output, current_stream
        )
        call.give_output(wgrad_tensor)
        given = given | {"wgrad_tensor": wgrad_tensor}
    if operator is None:
        operator = cache.wrapper[key] = _compiled(call, output_mode == "dense", given)
    if type(operator).execute is GroupedGemmWgrad.execute:
        operator._execute_call(call)
    else:  # a class that someone put in its place, as tests of such caches do
        operator.execute(**{name: given[name] for name in _EXECUTED})
    return TupleDict(wgrad_tensor=wgrad_tensor)


def _read(given: dict[str, Any]) -> _core.Call:
    """The call of these arguments, whose options are refused together with its tensors."""

    def read(chosen: _core.Options) -> _core.Call:
        return _core.Call(_core.Api.CALL, chosen, given)

    return read(WRAPPER.options(given, read))


#: The arguments that execute() has too.
_EXECUTED = inspect.signature(GroupedGemmWgrad.execute).parameters.keys() & {
    use.name for use in WRAPPER.uses.values()
}


def _of_other_majors(output_mode: str, call: _core.Call) -> GroupedGemmWgradSm100 | None:
    """A kept operator of other majors, for operands of so few tokens that they leave theirs open."""
    kept = (cache.wrapper.get((output_mode, key)) for key in call.other_keys)
    return next((operator for operator in kept if operator is not None), None)


def _compiled(call: _core.Call, dense: bool, given: dict[str, Any]) -> GroupedGemmWgradSm100:
    """An operator of these arguments: into a tensor like the given one, or into separate ones."""
    samples = WRAPPER.renamed(given, OPERATOR)
    experts, m, n = call.wgrad_shape
    if dense:
        samples["wgrad_dtype"] = None  # the tensor's own
    else:
        samples.update(
            sample_wgrad=None,
            num_experts=experts,
            wgrad_shape=(m, n),
            wgrad_dtype=call.wgrad_dtype,
        )
    operator = GroupedGemmWgradSm100(**samples)
    if not operator.check_support():
        raise _core.RuntimeError("wgrad: Unsupported configuration")
    operator.compile()
    return operator


# Feature flags of the reference's wrapper.
grouped_gemm_wgrad_wrapper_sm100.supports_canonical_layouts = True  # type: ignore[attr-defined]
grouped_gemm_wgrad_wrapper_sm100.supports_bf16_canonical_layouts = True  # type: ignore[attr-defined]
grouped_gemm_wgrad_wrapper_sm100.supports_tensor_layouts = True  # type: ignore[attr-defined]


register_pytrees()
