"""The benchmark of a layer in training finds other libraries where they import, and judges them.

Neither QuACK nor TransformerEngine is here: packages of their names, which compute in plain torch,
stand for them. Their own kernels are not what is tested.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
BENCH = Path(__file__).resolve().parents[2] / "bench"

QUACK = """
def gemm_add_inplace(a, b, out, cu_seqlens_k, tuned):
    ends = cu_seqlens_k.tolist()
    for e, (begin, end) in enumerate(zip(ends, ends[1:])):
        out[e] += FACTOR * (a[:, begin:end].float() @ b[begin:end].float())
"""
TRANSFORMER_ENGINE = """
import torch

class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, owner):
        ctx.owner = owner
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    def backward(ctx, dy):
        x, weight = ctx.saved_tensors
        if ctx.needs_input_grad[1]:
            ctx.owner.main_grad += dy.float().t() @ x.float()
        return dy @ weight, None, None

class GroupedLinear(torch.nn.Module):
    def __init__(self, experts, m, n, bias, params_dtype, fuse_wgrad_accumulation):
        super().__init__()
        assert not bias and fuse_wgrad_accumulation
        for e in range(experts):
            weight = torch.nn.Parameter(torch.empty(n, m, dtype=params_dtype))
            self.register_parameter(f"weight{e}", weight)

    def forward(self, x, m_splits):
        parts = zip(x.split(m_splits), self.parameters())
        return torch.cat([_Linear.apply(part, weight, weight) for part, weight in parts])
"""


@pytest.fixture
def gpu_layer(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    for name in ("gpu_layer", "layer_products"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    import gpu_layer

    return gpu_layer


def package(folder, module, text):
    """An importable `module`, whose packages hold nothing else."""
    *parents, name = module.split(".")
    place = folder
    for parent in parents:
        place = place / parent
        place.mkdir(exist_ok=True)
        (place / "__init__.py").touch()
    (place / f"{name}.py").write_text(text)


def measured(gpu_layer):
    layer = gpu_layer.Layer("small", 3, 32, 16, 48)
    return gpu_layer.measure(layer, torch.device("cpu"), rounds=1)


@pytest.mark.skipif(
    importlib.util.find_spec("quack") is not None
    or importlib.util.find_spec("transformer_engine") is not None
    or not hasattr(torch.nn.functional, "grouped_mm"),
    reason="a real one is here, or this torch has no grouped matmul",
)
@pytest.mark.parametrize("factor", [1, 2], ids=["right", "wrong"])
def test_others_are_timed_beside_wgrad_where_they_import(gpu_layer, monkeypatch, tmp_path, factor):
    assert measured(gpu_layer)["missing"] == ["transformer_engine", "quack"]
    package(tmp_path, "quack.gemm_interface", QUACK.replace("FACTOR", str(factor)))
    package(tmp_path, "transformer_engine.pytorch", TRANSFORMER_ENGINE)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    try:
        row = measured(gpu_layer)
    finally:
        for name in [n for n in sys.modules if n.split(".")[0] in ("quack", "transformer_engine")]:
            del sys.modules[name]
    assert not row["failures"] and not row["missing"]
    names = {"wgrad", "grouped_mm", "transformer_engine", "quack"}
    assert row["step_ms"].keys() == row["wgrad_ms"].keys() == row["differences"].keys() == names
    different = {name for name, by in row["differences"].items() if by > 2e-2}
    assert different == ({"quack"} if factor == 2 else set())
