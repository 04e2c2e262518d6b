"""Faulty device data: never a foreign byte touched, always an answer when asked."""

import pytest
import torch
import wgrad

from gpu_case import make


@pytest.mark.parametrize(
    "offsets,experts,word",
    [
        ([100, 50, 200, 300], (1,), "decrease"),
        ([-5, 50, 200, 300], (0,), "negative"),
        ([100, 150, 200, 5000], (3,), "exceed"),
        # Two faults: which of them is recorded is open.
        ([2147483647, -2147483648, 200, 300], (0, 1), ""),
    ],
)
def test_faulty_offsets_are_clamped_and_reported(offsets, experts, word):
    case = make([100, 50, 50, 100], 128, 256)
    out = case.output()
    op = case.operator(out)
    op.execute(*case.drop_in(), wgrad_tensor=out)
    torch.cuda.synchronize()
    assert op.fault() is None
    case.expect(out)
    bad = torch.tensor(offsets, dtype=torch.int32, device="cuda")
    op.execute(*case.drop_in()[:4], bad, wgrad_tensor=out)
    torch.cuda.synchronize()
    fault = op.fault()
    assert fault is not None and fault.expert in experts
    assert fault.value == offsets[fault.expert]
    assert word in fault.what
    op.clear_fault()
    op.execute(*case.drop_in(), wgrad_tensor=out)
    torch.cuda.synchronize()
    assert op.fault() is None
    case.expect(out)


def test_a_faulty_call_without_an_operator_of_its_own_can_be_asked_about():
    case = make([100, 50, 50, 100], 128, 256)
    bad = torch.tensor([100, 50, 200, 300], dtype=torch.int32, device="cuda")
    calls = [
        lambda offsets: wgrad.grouped_wgrad(case.x, case.dy, offsets),
        lambda offsets: wgrad.grouped_gemm_wgrad_wrapper_sm100(*case.drop_in()[:4], offsets),
    ]
    for call in calls:
        call(case.offsets)
        torch.cuda.synchronize()
        assert wgrad.device_fault() is None
        call(bad)
        torch.cuda.synchronize()
        assert wgrad.device_fault().expert == 1
        wgrad.clear_device_fault()
        assert wgrad.device_fault() is None


def test_the_environment_asks_for_validation(monkeypatch):
    case = make([100, 50, 50, 100], 128, 256)
    bad = torch.tensor([100, 50, 200, 300], dtype=torch.int32, device="cuda")
    out = case.output()
    monkeypatch.setenv("WGRAD_VALIDATE", "1")
    op = case.operator(out)
    with pytest.raises(ValueError, match=r"offsets_tensor\[1\] is 50"):
        op.execute(*case.drop_in()[:4], bad, wgrad_tensor=out)
    torch.cuda.synchronize()
    assert out.isnan().all() and op.fault() is None


def test_validation_refuses_faulty_offsets_before_the_launch():
    case = make([100, 50, 50, 100], 128, 256)
    bad = torch.tensor([100, 50, 200, 300], dtype=torch.int32, device="cuda")
    out = case.output()
    with pytest.raises(ValueError, match=r"offsets\[1\] is 50"):
        wgrad.grouped_wgrad(case.x, case.dy, bad, out=out, validate_device_data=True)
    assert out.isnan().all()


def test_validation_refuses_to_run_under_capture():
    case = make([100, 50], 128, 256)
    out = case.output()
    call = lambda: wgrad.grouped_wgrad(
        case.x, case.dy, case.offsets, out=out, validate_device_data=True
    )
    call()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="captur"):
        with torch.cuda.graph(graph):
            call()


@pytest.mark.parametrize("address", [0, 8])
def test_faulty_output_addresses_are_skipped_and_reported(address):
    case = make([100, 50, 60], 128, 256)
    outs = [torch.full((128, 256), float("nan"), dtype=torch.bfloat16, device="cuda") for _ in range(3)]
    table = torch.tensor([outs[0].data_ptr(), address or 0, outs[2].data_ptr()], device="cuda")
    if address:
        table[1] = outs[1].data_ptr() + address
    op = case.operator(outs[0])
    op.execute(*case.drop_in(), wgrad_ptrs=table)
    torch.cuda.synchronize()
    fault = op.fault()
    assert fault is not None and fault.expert == 1
    assert outs[1].isnan().all()
    for e in (0, 2):
        assert torch.equal(outs[e], case.product(e).to(torch.bfloat16))
