"""wgrad.torch's layers on a GPU: exact gradients, graphs, streams, lifetimes, compiled steps."""

import threading

import pytest
import torch

from gpu_case import NAN, GpuCase, integers, make

layers = pytest.importorskip("wgrad.torch")
pytestmark = pytest.mark.skipif(
    not hasattr(torch.nn.functional, "grouped_mm"), reason="this torch has no grouped_mm"
)
M, N = 256, 320
COUNTS = ([64, 3, 0, 500], [567, 0, 0, 0], [0, 0, 0, 567], [1, 127, 128, 311])


def layer_for(case: GpuCase, dtype=torch.float32, **options):
    """A layer of integer weights with main_grads of NaN, to be overwritten or seeded."""
    m, n = case.x.shape[1], case.dy.shape[1]
    layer = layers.GroupedLinear(case.experts, m, n, dtype=case.x.dtype, device="cuda", **options)
    for i, parameter in enumerate(layer.weights()):
        value = integers(parameter.shape[0], parameter[0].numel(), parameter.dtype, "cuda", 50 + i, 2)
        parameter.data.copy_(value.view(parameter.shape))
        parameter.main_grad = torch.full(parameter.shape, NAN, dtype=dtype, device="cuda")
    return layer


def main_grad(layer) -> torch.Tensor:
    """(E, M, N) of whatever parameters the layer has."""
    found = [p.main_grad.transpose(-2, -1) if layer.transposed else p.main_grad
             for p in layer.weights()]
    return torch.stack(found) if layer.separate else found[0]


def weight(layer) -> torch.Tensor:
    found = [p.detach().transpose(-2, -1) if layer.transposed else p.detach() for p in layer.weights()]
    return torch.stack(found) if layer.separate else found[0]


def expect_product(y, x, w, case: GpuCase) -> None:
    """y[begin:end] = x[begin:end] @ w[e], exact in float32, rounded once."""
    begin = 0
    for e, end in enumerate(case.ends):
        want = x[begin:end].float() @ w[e].float()
        assert torch.equal(y[begin:end], want.to(y.dtype)), f"expert {e}"
        begin = end


LAYOUTS = {"packed": {}, "transposed": {"transposed": True}, "separate": {"separate": True}}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_output_and_gradients_are_exact(counts, layout):
    case = make(counts, M, N, slack=9)
    layer = layer_for(case, **LAYOUTS[layout])
    x = case.x.clone().requires_grad_()
    y = layer(x, case.offsets, True)
    y.backward(case.dy)
    expect_product(y.detach(), case.x, weight(layer), case)
    expect_product(x.grad, case.dy, weight(layer).transpose(1, 2), case)
    case.expect(main_grad(layer))
    layer(x, case.offsets).backward(case.dy)
    case.expect(main_grad(layer), start=0, times=2)


def test_float16_and_a_bias():
    case = make([40, 0, 88], 64, 128, dtype=torch.float16)
    layer = layer_for(case, bias=True)
    layer(case.x, case.offsets, True).backward(case.dy)
    case.expect(main_grad(layer))
    begin = 0
    for e, end in enumerate(case.ends):
        assert torch.equal(layer.bias.grad[e], case.dy[begin:end].float().sum(0).half())
        begin = end


def test_no_token_at_all():
    case = make([0, 0, 0], M, N)
    layer = layer_for(case)
    x = case.x.clone().requires_grad_()
    layer(x, case.offsets, True).backward(case.dy)
    assert not main_grad(layer).any() and x.grad.shape == (0, M)


def test_f090_f091_a_step_waits_for_nothing():
    case = make([100, 0, 37, 500], M, N)
    layer = layer_for(case, bias=True)
    layer(case.x, case.offsets, True).backward(case.dy)
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(300_000_000)
        busy = torch.cuda.Event()
        busy.record()
        layer(case.x, case.offsets, True).backward(case.dy)
        assert not busy.query(), "the step waited for the stream"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    case.expect(main_grad(layer))


def test_an_expanded_gradient_and_a_strided_one():
    case = make([64, 3, 60], M, N)
    layer = layer_for(case)
    layer(case.x, case.offsets, True).sum().backward()
    ones = GpuCase(case.x, torch.ones_like(case.dy), case.offsets, case.ends)
    ones.expect(main_grad(layer))
    wide = torch.cat([case.dy, case.dy], 1)[:, :N]
    layer(case.x, case.offsets, True).backward(wide)
    case.expect(main_grad(layer))


@pytest.mark.parametrize("transposed", [False, True])
def test_a_graphed_step_sees_new_counts_at_each_replay(transposed):
    """make_graphed_callables: forward and backward are graphs of their own."""
    case = make(COUNTS[0], M, N)
    layer = layer_for(case, transposed=transposed)
    parameter = layer.weights()[0]
    del parameter.main_grad
    sample = case.x.clone().requires_grad_()
    graphed = torch.cuda.make_graphed_callables(layer, (sample, case.offsets.clone()))
    for seed, counts in enumerate(COUNTS):
        other = make(counts, M, N, seed=10 * seed)
        x = other.x.clone().requires_grad_()
        parameter.grad = None
        y = graphed(x, other.offsets)
        y.backward(other.dy)
        expect_product(y.detach(), other.x, weight(layer), other)
        expect_product(x.grad, other.dy, weight(layer).transpose(1, 2), other)
        other.expect(parameter.grad.transpose(1, 2) if transposed else parameter.grad)


def test_a_captured_step_adds_to_main_grad():
    case = make(COUNTS[0], M, N)
    layer = layer_for(case)
    static = case.x.clone(), case.dy.clone(), case.offsets.clone()
    layer(static[0], static[2], True).backward(static[1])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        layer(static[0], static[2]).backward(static[1])
    for seed, counts in enumerate(COUNTS):
        other = make(counts, M, N, seed=10 * seed)
        for mine, given in zip(static, (other.x, other.dy, other.offsets)):
            mine.copy_(given)
        layer.weight.main_grad.fill_(1.0)
        for _ in range(2):
            graph.replay()
        other.expect(main_grad(layer), start=1.0, times=2)


def test_f076_delayed_gradients_on_a_side_stream_keep_their_operands():
    """The current stream's allocator must not reuse what the side stream still reads."""
    side = torch.cuda.Stream()
    queue = layers.DelayedGradients(side)
    case = make([300, 0, 80, 500], M, N)
    layer = layer_for(case, delay=queue, sm_limit=32)
    for first in (True, False):
        x, dy = case.x.clone(), case.dy.clone()
        layer(x, case.offsets, first).backward(dy)
        del x, dy
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
    assert queue.backward_dw() == 2
    junk = [torch.full_like(t, NAN) for t in (case.x, case.dy) for _ in range(4)]
    queue.wait()
    case.expect(main_grad(layer), start=0, times=2)
    assert len(junk) == 8


def test_delayed_gradients_wait_for_their_operands():
    """A gradient that the current stream makes late reaches the side stream whole."""
    side = torch.cuda.Stream()
    case = make([300, 0, 80, 500], M, N)
    layer = layer_for(case, delay=layers.DelayedGradients(side))
    late = torch.empty_like(case.dy)
    torch.cuda._sleep(200_000_000)
    late.copy_(case.dy)
    layer(case.x, case.offsets, True).backward(late)
    layer.backward_dw()
    layer.delayed.wait()
    case.expect(main_grad(layer))


def test_memory_of_a_step_is_free_at_once():
    """Ten steps, operands overwritten as soon as the stream may: the next step's come from there."""
    layer = None
    for step in range(10):
        case = make(COUNTS[step % 4], M, N, seed=step)
        layer = layer or layer_for(case)
        x, dy = case.x.clone(), case.dy.clone()
        layer(x, case.offsets, True).backward(dy)
        x.fill_(NAN), dy.fill_(NAN)
        del x, dy
        case.expect(main_grad(layer))


def test_a_compiled_step_in_one_graph():
    from torch._dynamo.testing import CompileCounterWithBackend

    torch._dynamo.reset()
    case = make(COUNTS[0], M, N)
    layer = layer_for(case)
    layer.weight.grad_added_to_main_grad = False
    counter = CompileCounterWithBackend("inductor")
    fast = torch.compile(layer, fullgraph=True, dynamic=True, backend=counter)
    layer.weight.main_grad.zero_()
    total = 0
    for seed, counts in enumerate(([64, 3, 0, 500], [10, 20, 30, 40], [0, 0, 700, 2])):
        other = make(counts, M, N, seed=10 * seed)
        x = other.x.clone().requires_grad_()
        layer.weight.grad_added_to_main_grad = False  # as trainers do before a step
        y = fast(x, other.offsets)
        y.backward(other.dy)
        expect_product(y.detach(), other.x, weight(layer), other)
        expect_product(x.grad, other.dy, weight(layer).transpose(1, 2), other)
        total = total + torch.stack([other.product(e) for e in range(4)])
        assert torch.equal(layer.weight.main_grad, total)
    assert counter.frame_count == 1 and layer.weight.grad_added_to_main_grad is True


def test_torchs_own_grouped_matmul_patched():
    case = make(COUNTS[0], M, N)
    parameter = torch.nn.Parameter(integers(4 * M, N, torch.bfloat16, "cuda", 3).view(4, M, N))
    with layers.patch_torch_grouped_mm() as patch:
        torch.nn.functional.grouped_mm(case.x, parameter, offs=case.offsets).sum().backward()
    GpuCase(case.x, torch.ones_like(case.dy), case.offsets, case.ends).expect(parameter.grad)
    assert sum(patch.taken.values()) == 1 and not patch.left


def test_two_threads_on_streams_of_their_own():
    failures = []

    def work(seed):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                case = make(COUNTS[seed % 4], M, N, seed=seed)
                layer = layer_for(case)
                for _ in range(20):
                    layer(case.x, case.offsets, True).backward(case.dy)
                case.expect(main_grad(layer))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one CUDA device")
def test_two_devices():
    """The current device is the other one. Not run so far: one device at a time was there."""
    case = make(COUNTS[0], M, N, device="cuda:1")
    layer = layers.GroupedLinear(4, M, N, dtype=torch.bfloat16, device="cuda:1")
    layer(case.x, case.offsets).backward(case.dy)
    case.expect(layer.weight.grad)


def test_offsets_on_the_host_are_refused_before_a_launch():
    case = make(COUNTS[0], M, N)
    layer = layer_for(case)
    with pytest.raises(ValueError, match="offsets is on cpu; it must be on cuda:0, as x is"):
        layer(case.x, case.offsets.cpu())
    torch.cuda.synchronize()


def test_the_margin_of_the_drop_in_names_leaves_multiprocessors(monkeypatch):
    import wgrad

    count = torch.cuda.get_device_properties(0).multi_processor_count
    case = make([300, 0, 80, 500], M, N)
    monkeypatch.setenv("CUDNNFE_CLUSTER_OVERLAP_MARGIN", "8")
    out = wgrad.grouped_gemm_wgrad_wrapper_sm100(*case.drop_in(), wgrad_dtype=torch.float32)
    case.expect(out["wgrad_tensor"])
    monkeypatch.setenv("CUDNNFE_CLUSTER_OVERLAP_MARGIN", str(count))
    with pytest.raises(ValueError, match=f"less than the device's {count} multiprocessors"):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(*case.drop_in())
