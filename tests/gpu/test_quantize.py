"""quantize() of CUDA tensors: the CPU's bits, without a copy to the host."""

import numpy as np
import pytest
import torch
import wgrad

FORMATS = {
    "mxfp8": {},
    "mxfp8 e5m2": {"element": "float8_e5m2", "scaling_mode": "rceil"},
    "mxfp8 mn": {"major": "mn"},
    "mxfp4": {},
    "nvfp4": {},
    "nvfp4 at random": {"stochastic_seed": 2**63 + 12345},
    "nvfp4 transformed": {"hadamard_seed": 7},
    "nvfp4 both": {"stochastic_seed": 1, "hadamard_seed": 2},
}
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32}
COUNTS = {
    "any": [130, 0, 62, 6, 258, 1024, 2],
    "aligned": [128, 0, 512, 32, 1024],
    "one": [3000],
    "none": [0, 0],
}


def arguments(name):
    return {"format": name.split()[0], **FORMATS[name]}


def source(tokens, rows, dtype, seed=0, major="tokens"):
    generator = torch.Generator("cuda").manual_seed(seed)
    x = torch.randn(tokens, rows, generator=generator, device="cuda")
    x = x * torch.exp2(torch.randint(-20, 12, (tokens, 1), generator=generator, device="cuda"))
    if tokens > 40:
        x[7, 3], x[20, 5], x[33] = float("nan"), float("inf"), 0
    x = x.to(dtype)
    return x if major == "tokens" else x.t().contiguous().t()


def offsets_of(counts):
    return torch.tensor(np.cumsum(counts), dtype=torch.int32)


def raw(t):
    return t.contiguous().view(torch.uint8).cpu() if t is not None else None


def same(got, want):
    assert torch.equal(raw(got.elements.t()), raw(want.elements.t())), "elements"
    if want.global_scale is not None:
        assert torch.equal(raw(got.global_scale), raw(want.global_scale)), "global scales"
    scales, expected = raw(got.scales), raw(want.scales)
    if want.compact:
        cols = expected.shape[1]
        assert torch.equal(scales[:, :cols], expected), "scales"
        assert (scales[:, cols:] == 171).all(), "columns behind the last expert's"
    else:
        flat, count = scales.flatten(), expected.numel()
        assert torch.equal(flat[:count], expected.flatten()), "scales"
        assert (flat[count:] == 171).all(), "padding behind the last expert's"


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("name", FORMATS)
def test_the_cpus_bits(name, counts, dtype):
    ends = offsets_of(COUNTS[counts])
    tokens = int(ends[-1]) + 74
    turn = 0
    for rows in (64, 200, 333):
        for major in ("tokens", "rows"):
            for compact in (False, True):
                turn += 1
                if turn % 3 != 0 and rows != 200:
                    continue
                x = source(tokens, rows, DTYPES[dtype], rows, major)
                options = {**arguments(name), "compact": compact, "scale_padding": 171}
                if turn % 2 == 0:
                    options["input_order"] = "tensor_ragged"
                got = wgrad.quantize(x, ends.cuda(), **options)
                assert got.elements.is_cuda and got.scales.is_cuda
                same(got, wgrad.quantize(x.cpu(), ends, **options))


@pytest.mark.parametrize("name", FORMATS)
def test_a_pair_is_two(name):
    ends = offsets_of(COUNTS["any"]).cuda()
    tokens = int(ends[-1]) + 2
    x, dy = (source(tokens, rows, torch.bfloat16, rows) for rows in (200, 136))
    options = arguments(name)
    pair = wgrad.quantize_pair(x, dy, ends, **options)
    if "stochastic_seed" in options:
        options["stochastic_seed"] += 1
    second = wgrad.quantize(dy, ends, role="dy", **options)
    assert torch.equal(raw(pair[1].elements), raw(second.elements))
    assert torch.equal(raw(pair[1].scales), raw(second.scales))
    assert [q.role for q in pair] == ["x", "dy"]


def test_given_global_scales():
    ends = offsets_of([64, 96])
    x = source(160, 64, torch.bfloat16)
    given = torch.tensor([0.5, 3e-3])
    got = wgrad.quantize(x, ends.cuda(), "nvfp4", global_scale=given.cuda(), scale_padding=171)
    want = wgrad.quantize(x.cpu(), ends, "nvfp4", global_scale=given, scale_padding=171)
    same(got, want)
    assert torch.equal(got.global_scale.cpu(), given)


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "nvfp4"])
def test_a_graph_sees_new_offsets(name):
    x = source(512, 128, torch.bfloat16)
    ends = offsets_of([100, 28, 200]).cuda()
    options = {"format": name, "scale_padding": 171}
    wgrad.quantize(x, ends, **options)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        q = wgrad.quantize(x, ends, **options)
    for counts in ([100, 28, 200], [2, 400, 110], [0, 0, 0]):
        ends.copy_(offsets_of(counts))
        graph.replay()
        torch.cuda.synchronize()
        same(q, wgrad.quantize(x.cpu(), ends.cpu(), **options))


def test_nothing_waits():
    x, ends = source(256, 64, torch.bfloat16), offsets_of([256]).cuda()
    wgrad.quantize(x, ends)
    mode = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        wgrad.quantize(x, ends)
    finally:
        torch.cuda.set_sync_debug_mode(mode)


def test_faulty_offsets_are_told():
    x = source(256, 64, torch.bfloat16)
    wgrad.clear_device_fault()
    wgrad.quantize(x, torch.tensor([100, 50, 256], dtype=torch.int32, device="cuda"))
    torch.cuda.synchronize()
    fault = wgrad.device_fault()
    assert fault is not None and (fault.expert, fault.value, fault.limit) == (1, 50, 100)
    wgrad.clear_device_fault()
    assert wgrad.device_fault() is None


REFUSED = {
    "x is float64; it must be bfloat16, float16 or float32": lambda x, o: wgrad.quantize(x.double(), o),
    "offsets is on cpu; it must be on x's device": lambda x, o: wgrad.quantize(x, o.cpu()),
    "offsets is int64 of shape": lambda x, o: wgrad.quantize(x, o.long()),
    "x is of shape .*; it must be 2-D": lambda x, o: wgrad.quantize(x[0], o),
    "tokens is 255; it must be even": lambda x, o: wgrad.quantize(x[1:], o, "mxfp4"),
    "dy is in host memory": lambda x, o: wgrad.quantize_pair(x, x.cpu(), o),
    "dy is 255 tokens": lambda x, o: wgrad.quantize_pair(x, x[1:], o),
}


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    x, ends = source(256, 64, torch.bfloat16), offsets_of([256]).cuda()
    with pytest.raises(wgrad.ValueError, match=text):
        REFUSED[text](x, ends)


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "nvfp4"])
def test_feeds_grouped_wgrad(name):
    ends = offsets_of([256, 0, 128, 384])
    x, dy = (source(768, rows, torch.bfloat16, rows) for rows in (128, 256))
    x, dy = (torch.nan_to_num(t, 1, 1, 1) for t in (x, dy))
    out = wgrad.grouped_wgrad(
        *wgrad.quantize_pair(x, dy, ends.cuda(), name), ends.cuda(), out_dtype=torch.float32
    )
    host = [wgrad.quantize(t.cpu(), ends, name) for t in (x, dy)]
    want = wgrad.grouped_wgrad(*host, ends, out_dtype=torch.float32, backend="reference")
    torch.testing.assert_close(out.cpu(), want, rtol=1e-3, atol=1e-3 * float(want.abs().max()))
