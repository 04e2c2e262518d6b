"""One exact result by a wheel, through numpy, torch or JAX. Usage: versions.py numpy|torch|jax. Names what it ran on."""

import platform
import sys

import ml_dtypes
import numpy as np

COUNTS = [37, 0, 59]
ENDS = np.cumsum(COUNTS).astype(np.int32)


def operands():
    random = np.random.default_rng(3)
    return (random.integers(-4, 5, (96, width)).astype(ml_dtypes.bfloat16) for width in (64, 48))


def wanted(x, dy):
    x, dy, begins = x.astype(np.float64), dy.astype(np.float64), [0, *ENDS[:-1]]
    return np.stack([x[b:e].T @ dy[b:e] for b, e in zip(begins, ENDS)])


def by_numpy(x, dy):
    import wgrad

    return np, wgrad.grouped_wgrad(x, dy, ENDS, out_dtype=np.float32)


def by_torch(x, dy):
    import torch
    import wgrad

    x, dy = (torch.from_numpy(t.astype(np.float32)).to(torch.bfloat16) for t in (x, dy))
    return torch, wgrad.grouped_wgrad(x, dy, torch.from_numpy(ENDS), out_dtype=torch.float32).numpy()


def by_jax(x, dy):
    import jax
    import wgrad.jax

    return jax, np.asarray(jax.jit(lambda *a: wgrad.jax.grouped_wgrad(*a, out_dtype=np.float32))(x, dy, ENDS))


def main():
    x, dy = operands()
    module, result = {"numpy": by_numpy, "torch": by_torch, "jax": by_jax}[sys.argv[1]](x, dy)
    assert np.array_equal(np.asarray(result, np.float64), wanted(x, dy))
    glibc = platform.libc_ver()[1]
    print(f"right with {module.__name__} {module.__version__}, Python {platform.python_version()}, glibc {glibc}")


if __name__ == "__main__":
    main()
