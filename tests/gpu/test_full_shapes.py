"""The shapes file at full size, bit for bit, in every output mode, aligned and odd counts."""

import sys
from pathlib import Path

import pytest
import torch
import wgrad

from gpu_case import make

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from shapes import counts, read_shapes


@pytest.mark.parametrize("multiple", [1, 256], ids=["odd", "aligned"])
@pytest.mark.parametrize("shape", read_shapes(), ids=lambda s: s.name)
def test_shape(shape, multiple):
    case = make(counts(shape, multiple, seed=3), shape.m, shape.n, slack=13)
    for dtype in (torch.bfloat16, torch.float32, torch.float16):
        out = case.output(dtype)
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
        case.expect(out)
        del out
    out = case.output(torch.float32, 3.0)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out, accumulate=True)
    case.expect(out, start=3.0)


@pytest.mark.parametrize("x_major", ["k", "mn"])
@pytest.mark.parametrize("dy_major", ["k", "mn"])
@pytest.mark.parametrize("name", ["qwen3-235b", "gpt-oss-120b", "olmoe", "dsv3-ep16-down"])
def test_majors(name, x_major, dy_major):
    shape = next(s for s in read_shapes() if s.name == name)
    case = make(counts(shape, 1, seed=5), shape.m, shape.n, slack=3, x_major=x_major, dy_major=dy_major)
    out = case.output()
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)


@pytest.mark.parametrize("experts, least, mean, most", [(20, 512, 3104, 6016), (32, 1024, 2048, 3072)])
def test_f115_fine_grained_experts(experts, least, mean, most):
    middle = (mean * experts - least - most) // (experts - 2)
    case = make([least, *[middle] * (experts - 2), most], 512, 2048, slack=5)
    out = case.output()
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    case.expect(out)
