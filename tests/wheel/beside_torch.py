"""torch and a wheel's wgrad in one process, each with a oneDNN of its own: both compute, before and after the other.

Usage: beside_torch.py wgrad-first|torch-first|LIBRARY. LIBRARY is loaded before both, with its symbols in everybody's
reach: one that has oneDNN's names and aborts when called."""

import ctypes
import sys
from pathlib import Path


def integers(torch, *shape):
    """Products of these are exact in bf16 with FP32 sums, whoever adds them."""
    generator = torch.Generator().manual_seed(7)
    return torch.randint(-4, 5, shape, generator=generator).to(torch.bfloat16)


def torch_computes(torch):
    a, b = integers(torch, 128, 96), integers(torch, 96, 64)
    got = (a @ b).float()
    assert torch.equal(got, (a.double() @ b.double()).to(torch.bfloat16).float())
    assert torch.get_num_threads() == 2, torch.get_num_threads()


def wgrad_computes(torch, wgrad):
    x, dy = integers(torch, 300, 64), integers(torch, 300, 96)
    ends = torch.tensor([100, 100, 300], dtype=torch.int32)
    out = wgrad.grouped_wgrad(x, dy, ends, out_dtype=torch.float32)
    for expert, (begin, end) in enumerate([(0, 100), (100, 100), (100, 300)]):
        assert torch.equal(out[expert].double(), x[begin:end].double().T @ dy[begin:end].double())


def names_are_private(wgrad):
    """wgrad's copies export no name that another library of the process may have."""
    libraries = sorted((Path(wgrad.__file__).parent / "lib").glob("*.so*"))
    assert len(libraries) == 2, libraries
    for library, name in zip(libraries, ("dnnl_sgemm", "omp_get_max_threads")):
        exported = ctypes.CDLL(str(library))
        assert hasattr(exported, f"wgrad_{name}") and not hasattr(exported, name), (library, name)


def main():
    order = sys.argv[1]
    if order == "wgrad-first":
        import wgrad
    elif order != "torch-first":
        ctypes.CDLL(order, mode=ctypes.RTLD_GLOBAL)
    import torch
    import wgrad  # noqa: F811
    names_are_private(wgrad)
    torch.set_num_threads(2)
    for _ in range(3):
        torch_computes(torch)
        wgrad_computes(torch, wgrad)
    print(f"beside_torch: {Path(order).name}: torch {torch.__version__} and wgrad compute in one process")


if __name__ == "__main__":
    main()
