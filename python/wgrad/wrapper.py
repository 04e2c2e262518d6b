"""The drop-in functions: one call that checks, compiles at first use, and computes."""

from __future__ import annotations

from typing import Any

from . import _core, cache
from ._options import options, read_with, whole
from ._overlap import default_sm_limit
from ._refusals import refuse, shown
from ._tensors import is_jax, jax_front_end, new_output, refuse_traced
from .layouts import checked, described
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
    tensor_layouts: Any = None,
) -> TupleDict:
    """Computes all experts' weight gradients; compiled operators are kept and reused.

    Args:
        a_tensor: (M, T), K-major or M-major; bfloat16, float16, FP8, or packed FP4 (M, T/2).
        b_tensor: (T, N), K-major or N-major, of a_tensor's dtype.
        sfa_tensor, sfb_tensor: swizzled scale factors, or None for 16-bit operands.
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
        mma_tiler_mn, cluster_shape_mn, sf_vec_size, accumulate_on_output, input_order,
        sf_fp8_dtype_override, compact_scales, backend, validate_device_data, sm_limit: as
            GroupedGemmWgradSm100.
        current_stream: integer handle, torch stream or CUstream; None: torch's current stream of
            the tensors' device. Must be None on a CPU.
        descriptor_workspace: uint8 tensor of the queried size on the operands' device.
        tensor_layouts: (shape, strides, dtype) by argument name, for torch tensors that are handed
            over as plain memory; a wgrad_tensor is returned as it was given.

    Returns:
        TupleDict(wgrad_tensor=...): the tensor written; with wgrad_ptrs alone, None.

    Raises:
        ValueError: a bad argument, by name.
        RuntimeError: no backend of this build runs it on the tensors' device.
    """
    if output_mode != "dense" and output_mode != "discrete":
        raise _unknown("output_mode", output_mode, "'dense' or 'discrete'")
    if output_mode == "dense" and wgrad_ptrs is not None:
        raise refuse("wgrad_ptrs", "given", "None: dense output_mode forbids wgrad_ptrs")
    refuse_traced(a_tensor, "grouped_gemm_wgrad_wrapper_sm100")
    given_output = wgrad_tensor
    if tensor_layouts is not None:
        layouts = checked(tensor_layouts)
        a_tensor = described(layouts, "a_tensor", a_tensor)
        b_tensor = described(layouts, "b_tensor", b_tensor)
        sfa_tensor = described(layouts, "sfa_tensor", sfa_tensor)
        sfb_tensor = described(layouts, "sfb_tensor", sfb_tensor)
        wgrad_tensor = described(layouts, "wgrad_tensor", wgrad_tensor)
    sm_limit = default_sm_limit(sm_limit, a_tensor, "a_tensor")
    choices = (
        mma_tiler_mn,
        cluster_shape_mn,
        sf_vec_size,
        input_order,
        accumulate_on_output,
        wgrad_dtype,
        acc_dtype,
        sf_fp8_dtype_override,
        compact_scales,
        backend,
        validate_device_data,
        sm_limit,
    )
    if is_jax(a_tensor):
        result: TupleDict = jax_front_end("eager").wrapper(locals(), options(*choices))
        return result
    request = read_with(
        choices,
        lambda chosen: _core.Request(
            _core.Api.CALL,
            a_tensor,
            b_tensor,
            sfa_tensor,
            sfb_tensor,
            offsets_tensor,
            wgrad_tensor,
            wgrad_ptrs,
            global_scale_a,
            global_scale_b,
            descriptor_workspace,
            chosen,
            wgrad_ptrs is not None,
            current_stream,
        ),
    )
    key = (output_mode, request.key)
    operator = cache.wrapper.get(key) or _of_other_majors(output_mode, request)
    if operator is None:
        # Refused here, so that messages use this function's argument names.
        request.require_support()
    if wgrad_tensor is None and wgrad_ptrs is None:
        wgrad_tensor = new_output(
            a_tensor, request, "wgrad_tensor", accumulate_on_output, current_stream
        )
        request.give_output(wgrad_tensor)
    if operator is None:
        operator = cache.wrapper[key] = _compiled(
            request,
            (a_tensor, b_tensor, sfa_tensor, sfb_tensor, offsets_tensor),
            wgrad_tensor if output_mode == "dense" else None,
            sample_global_scale_a=global_scale_a,
            sample_global_scale_b=global_scale_b,
            acc_dtype=acc_dtype,
            mma_tiler_mn=mma_tiler_mn,
            cluster_shape_mn=cluster_shape_mn,
            sf_vec_size=sf_vec_size,
            accumulate_on_output=accumulate_on_output,
            input_order=input_order,
            sf_fp8_dtype_override=sf_fp8_dtype_override,
            compact_scales=compact_scales,
            backend=backend,
            validate_device_data=validate_device_data,
            sm_limit=sm_limit,
        )
    if type(operator).execute is GroupedGemmWgrad.execute:
        operator._execute_request(request)
    else:  # a class that someone put in its place, as tests of such caches do
        operator.execute(
            a_tensor=a_tensor,
            b_tensor=b_tensor,
            sfa_tensor=sfa_tensor,
            sfb_tensor=sfb_tensor,
            offsets_tensor=offsets_tensor,
            wgrad_tensor=wgrad_tensor,
            wgrad_ptrs=wgrad_ptrs,
            global_scale_a=global_scale_a,
            global_scale_b=global_scale_b,
            current_stream=current_stream,
            descriptor_workspace=descriptor_workspace,
        )
    return TupleDict(wgrad_tensor=wgrad_tensor if given_output is None else given_output)


def _of_other_majors(output_mode: str, request: _core.Request) -> GroupedGemmWgradSm100 | None:
    """A kept operator of other majors, for operands of so few tokens that they leave theirs open."""
    kept = (cache.wrapper.get((output_mode, key)) for key in request.other_keys)
    return next((operator for operator in kept if operator is not None), None)


def _compiled(
    request: _core.Request,
    operands: tuple[Any, Any, Any, Any, Any],
    stacked: Any,
    **chosen: Any,
) -> GroupedGemmWgradSm100:
    """An operator like `request`: into tensors like `stacked`, or where that is None, separate ones."""
    experts, m, n = request.wgrad_shape
    separate = stacked is None
    operator = GroupedGemmWgradSm100(
        *operands,
        sample_wgrad=stacked,
        num_experts=experts if separate else None,
        wgrad_shape=(m, n) if separate else None,
        wgrad_dtype=request.wgrad_dtype if separate else None,
        **chosen,
    )
    if not operator.check_support():
        raise _core.RuntimeError("wgrad: Unsupported configuration")
    operator.compile()
    return operator


# Feature flags of the reference's wrapper.
grouped_gemm_wgrad_wrapper_sm100.supports_canonical_layouts = True  # type: ignore[attr-defined]
grouped_gemm_wgrad_wrapper_sm100.supports_bf16_canonical_layouts = True  # type: ignore[attr-defined]
grouped_gemm_wgrad_wrapper_sm100.supports_tensor_layouts = True  # type: ignore[attr-defined]


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
        raise _unknown("output_mode", output_mode, "'dense' or 'discrete'")
    order = getattr(input_order, "value", input_order)
    if order not in ("tensor2d", "tensor_ragged"):
        raise _unknown("input_order", order, "'tensor2d' or 'tensor_ragged'")
    return _core.workspace_bytes(experts, output_mode == "discrete")


def grouped_gemm_wgrad_jax_sm100(
    a_tensor: Any,
    b_tensor: Any,
    offsets_tensor: Any,
    wgrad_ptrs: Any = None,
    wgrad_dtype: Any = "bfloat16",
    acc_dtype: Any = "float32",
    mma_tiler_mn: tuple[int, int] = (256, 256),
    cluster_shape_mn: tuple[int, int] | None = None,
    accumulate_on_output: bool = False,
    input_order: Any = "tensor2d",
    *,
    sfa_tensor: Any = None,
    sfb_tensor: Any = None,
    global_scale_a: Any = None,
    global_scale_b: Any = None,
    sf_vec_size: int = 32,
) -> Any:
    """The weight gradients of JAX arrays, eagerly or under ``jax.jit``, as one XLA custom call.

    Args:
        a_tensor: (M, T) bfloat16, float16 or FP8; packed FP4 (M, T/2) uint8, two tokens a byte.
        b_tensor: (T, N) of a_tensor's dtype; packed FP4 (N, T/2) uint8. Both are row-major.
        offsets_tensor: (E,) int32, the cumulative ends of the experts.
        wgrad_ptrs: None; or (E,) int64 addresses of the experts' (M, N) outputs, on the operands'
            device, and without jax_enable_x64 their bytes: (E * 8,) or (E, 8) uint8, little-endian.
            The caller seeds what is accumulated into, and keeps the outputs where they are.
        wgrad_dtype: bfloat16, float16 or float32, of the result or of what wgrad_ptrs point to.
        acc_dtype: float32, nothing else.
        mma_tiler_mn, cluster_shape_mn, input_order: as GroupedGemmWgradSm100.
        accumulate_on_output: add to what wgrad_ptrs point to; a new output is zeros before.
        sfa_tensor, sfb_tensor: swizzled scale factors, or None for 16-bit operands.
        global_scale_a, global_scale_b: (E,) float32, both or neither; NVFP4 needs them.
        sf_vec_size: tokens a scale factor covers: 32, or 16 for NVFP4.

    Returns:
        TupleDict(wgrad_tensor=(E, M, N) array). With wgrad_ptrs: a small array, the completion
        token; the outputs are there when it is ready (``jax.block_until_ready``).

    Raises:
        ValueError: a bad argument, by name, while it is traced. Values of offsets and addresses:
            on a CPU when it runs; on a GPU ``wgrad.jax.device_fault()`` tells.
        RuntimeError: jax is not installed, or the device cannot compute it.
    """
    scaled = sfa_tensor is not None or sfb_tensor is not None
    vec_size = 16 if not scaled and sf_vec_size == 32 else sf_vec_size
    b_packed_by_rows = str(getattr(b_tensor, "dtype", "")) == "uint8"
    choices = options(
        mma_tiler_mn,
        cluster_shape_mn,
        vec_size,
        input_order,
        accumulate_on_output,
        wgrad_dtype,
        acc_dtype,
        None,
        False,
        None,
        False,
        None,
    )
    return jax_front_end("eager").functional(locals(), choices)


def _unknown(argument: str, got: Any, need: str) -> Exception:
    return refuse(argument, repr(got), f"{need} (unsupported {argument} {got!r})")


register_pytrees()
