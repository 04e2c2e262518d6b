"""The drop-in function for JAX; jax is imported at its first call."""

from __future__ import annotations

from typing import Any

from ._functions import WRAPPER
from ._tensors import jax_front_end


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
        TupleDict(wgrad_tensor=(E, M, N) array). With wgrad_ptrs: the completion token, (M, N) zeros
        of wgrad_dtype; the outputs are there when it is ready (``jax.block_until_ready``).

    Raises:
        ValueError: a bad argument, by name, while it is traced. Values of offsets and addresses:
            on a CPU when it runs; on a GPU ``wgrad.jax.device_fault()`` tells.
        RuntimeError: jax is not installed, or the device cannot compute it.
    """
    scaled = sfa_tensor is not None or sfb_tensor is not None
    vec_size = 16 if not scaled and sf_vec_size == 32 else sf_vec_size
    b_packed_by_rows = str(getattr(b_tensor, "dtype", "")) == "uint8"
    given = locals()
    chosen = WRAPPER.options(given | _NOT_OF_JAX | {"sf_vec_size": vec_size})
    return jax_front_end("eager").functional(given, chosen)


#: Options of the wrapper that JAX's function has not.
_NOT_OF_JAX = {
    "sf_fp8_dtype_override": None,
    "compact_scales": False,
    "backend": None,
    "validate_device_data": False,
    "sm_limit": None,
    "allow_unverified": False,
}
