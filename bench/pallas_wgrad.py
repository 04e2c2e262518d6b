"""The weight gradient as JAX trainers write it by hand: a Pallas kernel that Triton compiles.

One program computes one (BM, BN) tile of one expert; it walks the expert's tokens BK at a time.
"""

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

BM, BN, BK = 128, 128, 64


def _tile(offsets, x, dy, out):
    e = pl.program_id(0)
    begin = jnp.where(e > 0, offsets[jnp.maximum(e - 1, 0)], 0)
    end = offsets[e]

    def add(block, total):
        row = begin + block * BK + jnp.arange(BK)
        inside = (row < end)[:, None]
        rows = pl.dslice(begin + block * BK, BK)
        a = jnp.where(inside, x[rows, :], 0)
        b = jnp.where(inside, dy[rows, :], 0)
        return total + jnp.dot(a.T, b, preferred_element_type=jnp.float32)

    blocks = pl.cdiv(end - begin, BK)
    total = jax.lax.fori_loop(0, blocks, add, jnp.zeros((BM, BN), jnp.float32))
    out[0, :, :] = total.astype(out.dtype)


def grouped_wgrad(x, dy, sizes, interpret=False):
    """(E, M, N) of x (T, M) and dy (T, N) in bfloat16; M and N multiples of 128.

    Rows are padded by one block, so that the last block of the last expert stays inside.
    """
    offsets = jnp.cumsum(sizes, dtype=jnp.int32)
    experts, (_, m), (_, n) = len(sizes), x.shape, dy.shape
    x, dy = (jnp.pad(each, ((0, BK), (0, 0))) for each in (x, dy))
    call = pl.pallas_call(
        _tile,
        grid=(experts, m // BM, n // BN),
        in_specs=[
            pl.BlockSpec((experts,), lambda e, i, j: (0,)),
            pl.BlockSpec((x.shape[0], BM), lambda e, i, j: (0, i)),
            pl.BlockSpec((dy.shape[0], BN), lambda e, i, j: (0, j)),
        ],
        out_specs=pl.BlockSpec((1, BM, BN), lambda e, i, j: (e, i, j)),
        out_shape=jax.ShapeDtypeStruct((experts, m, n), x.dtype),
        interpret=interpret,
        **_compiled_by_triton(),
    )
    return call(offsets, x, dy)


@functools.cache
def _compiled_by_triton():
    """Options under the names that this version of jax has for them."""
    try:
        from jax.experimental.pallas import triton
    except ImportError:
        return {}
    named = getattr(triton, "CompilerParams", None) or getattr(triton, "TritonCompilerParams", None)
    return {} if named is None else {"compiler_params": named(num_warps=4, num_stages=3)}
