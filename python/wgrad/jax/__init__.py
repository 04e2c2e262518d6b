"""wgrad for JAX: eager, under ``jax.jit``, differentiable, sharded.

``grouped_wgrad`` is the weight gradient of every expert. ``ragged_dot`` is ``jax.lax.ragged_dot``
with the gradient of its right side from wgrad. Both run on CPUs and CUDA devices through one XLA
custom call, without Python once they are compiled.

The names kept from cuDNN Frontend, ``grouped_gemm_wgrad_jax_sm100`` among them, are in ``wgrad``
itself and take JAX arrays too. Needs jax 0.8 or later.
"""

try:
    import jax as _jax
except ImportError as error:
    raise ImportError("wgrad.jax needs jax 0.8 or later: pip install jax") from error
try:
    from .. import _jax_ffi as _jax_ffi
except ImportError as error:
    raise ImportError(
        f"wgrad: its part for JAX, wgrad._jax_ffi, cannot be loaded ({error}); it is built where "
        "jaxlib is installed: pip install jaxlib, then pip install <the wgrad source folder>"
    ) from error

from .cache import clear_caches, clear_device_fault, device_fault
from .natural import grouped_wgrad
from .ragged import ragged_dot

__all__ = ["clear_caches", "clear_device_fault", "device_fault", "grouped_wgrad", "ragged_dot"]
