"""Graphs, streams, threads, devices: what a launch may and may not do. Named after field faults."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import torch
import wgrad

from gpu_case import NAN, make


def spin(milliseconds: float = 50) -> torch.cuda.Event:
    """Keeps the current stream busy; the event tells when it has run."""
    torch.cuda._sleep(int(milliseconds * 1.5e6))
    event = torch.cuda.Event()
    event.record()
    return event


@pytest.mark.parametrize("output", ["dense", "list"])
@pytest.mark.parametrize("counts", [[100, 0, 37, 500], [1024] * 64], ids=["few", "f090"])
def test_f091_execute_never_waits_for_the_device(counts, output):
    case = make(counts, 256, 384)
    out = case.output() if output == "dense" else one_by_one(case.output())[0]
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        busy = spin(200)
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
        assert not busy.query(), "the call waited for the stream"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    case.expect(out)


# Few outputs: grouped_wgrad takes a workspace from torch's allocator, which has it after one call.
# The class's operator takes nothing, nor does grouped_wgrad where tiles are many.
@pytest.mark.parametrize("kind", ["few outputs", "many outputs", "operator"])
def test_f093_execute_allocates_no_device_memory(kind):
    case = make([100, 0, 37, 500], 256, 384) if kind != "many outputs" else make([700, 90], 4096, 7168)
    out = case.output()
    operator = case.operator(out)
    call = (
        (lambda: operator.execute(*case.drop_in(), wgrad_tensor=out))
        if kind == "operator"
        else (lambda: wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out))
    )
    call()
    torch.cuda.synchronize()
    names = ["num_device_alloc", "segment.all.allocated"]
    names += [] if kind == "few outputs" else ["allocation.all.allocated"]
    before = [torch.cuda.memory_stats()[name] for name in names]
    for _ in range(20):
        call()
    torch.cuda.synchronize()
    assert [torch.cuda.memory_stats()[name] for name in names] == before


def captured(call) -> torch.cuda.CUDAGraph:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph


def test_f051_replay_follows_new_counts_and_new_data():
    case = make([256] * 8, 256, 512, slack=0)
    out = case.output()
    call = lambda: wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    call()
    graph = captured(call)
    for counts in ([2048, 0, 0, 0, 0, 0, 0, 0], [0] * 8, [1, 2, 3, 4, 5, 6, 7, 8], [256] * 8):
        other = make(counts, 256, 512, slack=2048 - sum(counts), seed=sum(counts) + 7)
        case.x.copy_(other.x)
        case.dy.copy_(other.dy)
        case.offsets.copy_(other.offsets)
        out.fill_(float("nan"))
        graph.replay()
        other.expect(out)


def test_f051_replay_follows_new_addresses():
    case = make([64, 3, 0, 128], 128, 256)
    first, table = one_by_one(case.output())
    operator = case.operator(first[0])
    call = lambda: operator.execute(*case.drop_in(), wgrad_ptrs=table)
    call()
    graph = captured(call)
    second, other = one_by_one(case.output())
    for outs, addresses in ((second, other), (first, table.clone()), (second, other)):
        table.copy_(addresses)
        for out in (*first, *second):
            out.fill_(NAN)
        graph.replay()
        case.expect(outs)
        assert untouched(second if outs is first else first)


def capture_the_first_call() -> None:
    case = make([64, 65, 0, 1], 192, 320, seed=11)
    out = case.output(torch.float32)
    graph = captured(lambda: wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out))
    eager = case.output(torch.float32)
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=eager)  # before any replay
    case.expect(eager)
    graph.replay()
    case.expect(out)


@pytest.mark.parametrize("cache", ["as it is", "empty"])
def test_f093_the_first_call_ever_may_be_captured(cache, tmp_path):
    """In a process of its own, where no kernel is loaded yet; with an empty cache, nor compiled."""
    folder = {} if cache == "as it is" else {"WGRAD_CACHE_DIR": str(tmp_path)}
    code = "import test_launch; test_launch.capture_the_first_call()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, env={**os.environ, **folder},
        capture_output=True, text=True, timeout=300,
    )
    assert done.returncode == 0, done.stderr


def test_a_list_of_outputs_is_refused_under_capture():
    """The table of their addresses would be copied again at replay, from memory long reused."""
    case = make([64, 3], 128, 256)
    outs, _ = one_by_one(case.output())
    call = lambda: wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=outs)
    call()
    graph = torch.cuda.CUDAGraph()
    with pytest.raises(RuntimeError, match="out is a list"), torch.cuda.graph(graph):
        call()
    call()
    case.expect(outs)


def test_f092_a_captured_call_survives_larger_calls():
    small = make([40, 0, 24], 128, 256)
    out = small.output()
    call = lambda: wgrad.grouped_wgrad(small.x, small.dy, small.offsets, out=out)
    call()
    graph = captured(call)
    for experts in (64, 512, 2560):
        large = make([3] * experts, 128, 256, seed=experts)
        large_out = large.output()
        wgrad.grouped_wgrad(large.x, large.dy, large.offsets, out=large_out)
        large.expect(large_out)
        del large, large_out
    junk = [torch.full((1 << 20,), float("nan"), device="cuda") for _ in range(64)]
    out.fill_(float("nan"))
    graph.replay()
    small.expect(out)
    del junk


def test_f050_two_captured_calls_share_a_workspace():
    size = wgrad.get_grouped_gemm_wgrad_workspace_size_sm100(4)
    workspace = torch.full((size,), 0xA5, dtype=torch.uint8, device="cuda")
    cases = [make([9, 200, 0, 63], 128, 256, seed=s) for s in (1, 50)]
    outs = [c.output() for c in cases]

    def call():
        for c, out in zip(cases, outs):
            wgrad.grouped_wgrad(c.x, c.dy, c.offsets, out=out, workspace=workspace)

    call()
    graph = captured(call)
    for fill in (0, 0xFF, 0x3C):
        workspace.fill_(fill)
        for out in outs:
            out.fill_(float("nan"))
        graph.replay()
        for c, out in zip(cases, outs):
            c.expect(out)


def test_f097_two_streams_and_two_problems_at_once():
    """Sums, so that a tile left out or computed twice in any of the calls is seen."""
    cases = [make([50] * 40, 256, 512, seed=1), make([7, 900, 0, 31], 384, 640, seed=2)]
    outs = [c.output(torch.float32, 0.0) for c in cases]
    streams = [torch.cuda.Stream() for _ in cases]
    torch.cuda.synchronize()
    for _ in range(200):
        for c, out, stream in zip(cases, outs, streams):
            with torch.cuda.stream(stream):
                wgrad.grouped_wgrad(c.x, c.dy, c.offsets, out=out, accumulate=True)
    torch.cuda.synchronize()
    for c, out in zip(cases, outs):
        c.expect(out, times=200)


def test_threads_share_one_operator():
    cases = [make([13, 200 + i, 0, 64], 256, 384, seed=i) for i in range(4)]
    outs = [c.output(torch.float32, 0.0) for c in cases]
    failures = []

    def work(c, out):
        try:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.default_stream())
            with torch.cuda.stream(stream):
                for _ in range(50):
                    wgrad.grouped_wgrad(c.x, c.dy, c.offsets, out=out, accumulate=True)
            stream.synchronize()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=pair) for pair in zip(cases, outs)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(60)
    assert not failures
    for c, out in zip(cases, outs):
        c.expect(out, times=50)


def one_by_one(out: torch.Tensor) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Experts' outputs in an order of memory that is not theirs, and the table of their addresses."""
    order = torch.randperm(len(out), generator=torch.Generator().manual_seed(1)).tolist()
    outs = [out[i] for i in order]
    return outs, torch.tensor([o.data_ptr() for o in outs], device=out.device)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
@pytest.mark.parametrize("api", ["natural", "list", "wrapper", "class", "pointers"])
def test_f095_tensors_on_a_device_that_is_not_current(api):
    torch.cuda.set_device(0)
    case = make([77, 0, 130], 128, 256, device="cuda:1")
    out = case.output()
    parts, table = one_by_one(case.output())
    if api == "natural":
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out)
    elif api == "list":
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=parts)
    elif api == "wrapper":
        wgrad.grouped_gemm_wgrad_wrapper_sm100(*case.drop_in(), wgrad_tensor=out)
    elif api == "class":
        case.operator(out).execute(*case.drop_in(), wgrad_tensor=out)
    else:
        case.operator(parts[0]).execute(*case.drop_in(), wgrad_ptrs=table)
    out = parts if api in ("list", "pointers") else out
    assert torch.cuda.current_device() == 0
    torch.cuda.synchronize(1)
    case.expect(out)


def test_f076_side_stream_accumulates_twice_while_storage_is_reused():
    case = make([64, 3, 128], 128, 256)
    want = torch.stack([2 * case.product(e) for e in range(case.experts)])
    out = case.output(torch.float32, 0.0)
    inputs = [case.x, case.dy, case.offsets]
    wgrad.grouped_wgrad(*inputs, out=torch.zeros_like(out), accumulate=True)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        busy = spin(100)
        for _ in range(2):
            wgrad.grouped_wgrad(*inputs, out=out, accumulate=True)
    for tensor in inputs:
        tensor.record_stream(side)
    shapes = [(tensor.shape, tensor.dtype) for tensor in inputs]
    del case, inputs, tensor
    junk = [torch.full(shape, 77, dtype=dtype, device="cuda") for shape, dtype in shapes * 8]
    assert not busy.query(), "too short to be seen"
    torch.cuda.current_stream().wait_stream(side)
    assert torch.equal(out, want)
    del junk


def poisoned_behind_work(outs: list[torch.Tensor], stream: torch.cuda.Stream) -> torch.cuda.Event:
    """NaN in all outputs, and work on `stream` that whatever comes next there has to wait for."""
    torch.cuda.synchronize()
    for out in outs:
        out.fill_(NAN)
    assert untouched(outs)  # also loads its kernels, which may wait for the device
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        return spin(100)


def untouched(outs: list[torch.Tensor]) -> bool:
    return all(bool(out.isnan().all()) for out in outs)


@pytest.mark.parametrize("kind", ["torch", "integer"])
def test_a_pointer_table_is_recorded_on_the_launch_stream(kind):
    """torch must not give its memory away before the stream gets there."""
    case = make([64, 3, 128], 128, 256)
    outs, table = one_by_one(case.output())
    operator = case.operator(outs[0])
    side = torch.cuda.Stream()
    call = lambda: operator.execute(
        *case.drop_in(), wgrad_ptrs=table,
        current_stream=side if kind == "torch" else side.cuda_stream,
    )
    call()
    busy = poisoned_behind_work(outs, side)
    call()
    del call, table
    junk = [torch.zeros(3, dtype=torch.int64, device="cuda") for _ in range(64)]
    assert not busy.query(), "too short to be seen"
    side.synchronize()
    case.expect(outs)
    del junk


def test_f117_accumulating_takes_no_memory_beside_main_grad():
    case = make([300, 0, 37, 500], 1024, 2048)
    main_grad = case.output(torch.float32, 0.0)
    call = lambda: wgrad.grouped_wgrad(
        case.x, case.dy, case.offsets, out=main_grad, accumulate=True
    )
    call()
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0]
    call()
    torch.cuda.synchronize()
    assert (torch.cuda.max_memory_allocated(), torch.cuda.mem_get_info()[0]) == before


@pytest.mark.parametrize("limit", [1, 7, 8, 1000])
def test_a_launch_keeps_to_the_sm_limit(limit):
    case = make([300, 0, 37, 500], 512, 768)
    out = case.output()
    wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=out, sm_limit=limit)
    case.expect(out)
    operator = case.operator(case.output(), sm_limit=limit)
    out = case.output()
    operator.execute(*case.drop_in(), out)
    case.expect(out)
    grid = int(operator._stacked.plan.split("grid ")[1].split(",")[0])
    assert 1 <= grid <= min(limit, torch.cuda.get_device_properties(0).multi_processor_count)


def test_sms_beyond_the_limit_stay_free_while_another_launch_waits():
    tokens, extent = 1 << 18, 4096
    x = torch.zeros(tokens, extent, device="cuda", dtype=torch.bfloat16)
    offsets = torch.tensor([tokens], device="cuda", dtype=torch.int32)
    out = torch.empty(1, extent, extent, device="cuda", dtype=torch.bfloat16)
    limit = torch.cuda.get_device_properties(0).multi_processor_count - 4
    call = lambda: wgrad.grouped_wgrad(x, x, offsets, out=out, sm_limit=limit)
    call()
    beside, small = torch.cuda.Stream(), torch.zeros(1024, device="cuda")
    small.add_(1)
    torch.cuda.synchronize()
    first, other = torch.cuda.Event(), torch.cuda.Event()
    call()  # some 12 ms
    first.record()
    call()
    call()
    with torch.cuda.stream(beside):
        small.add_(1)
        other.record()
    other.synchronize()
    assert not first.query(), "it waited for the end of a launch"


@pytest.mark.parametrize("kind", ["integer", "torch", "cuda-bindings"])
def test_a_given_stream_is_the_launch_stream(kind):
    stream = torch.cuda.Stream()
    given = stream if kind == "torch" else stream.cuda_stream
    if kind == "cuda-bindings":
        given = pytest.importorskip("cuda.bindings.driver").CUstream(given)
    case = make([300, 0, 37, 500], 256, 384)
    outs = [case.output(), case.output()]

    def call():
        wgrad.grouped_wgrad(case.x, case.dy, case.offsets, out=outs[0], stream=given)
        wgrad.grouped_gemm_wgrad_wrapper_sm100(
            *case.drop_in(), wgrad_tensor=outs[1], current_stream=given
        )

    call()
    busy = poisoned_behind_work(outs, stream)
    call()
    assert untouched(outs), "it ran on another stream"
    assert not busy.query(), "too short to be seen"
    stream.synchronize()
    for out in outs:
        case.expect(out)
