"""One operator captured twice in one graph: counts, data, outputs and addresses differ between the
calls and between the replays."""

import pytest
import torch
import wgrad

from gpu_case import NAN, GpuCase, make

TOKENS, M, N = 640, 256, 320
COUNTS = ([64, 3, 0, 500], [640, 0, 0, 0], [0, 0, 0, 0], [1, 127, 128, 65])


def ragged(tokens: torch.Tensor, ends: list[int]) -> torch.Tensor:
    """(T, W) as a (W, T) tensor whose memory holds each expert's (W, k_e) in turn, then NaN."""
    blocks = [tokens[begin:end].t().reshape(-1) for begin, end in zip([0, *ends], ends)]
    flat = torch.full((tokens.numel(),), NAN, dtype=tokens.dtype, device=tokens.device)
    flat[: sum(block.numel() for block in blocks)] = torch.cat(blocks)
    return flat.view(tokens.shape[1], tokens.shape[0])


class Call:
    """Operands at addresses that stay, filled with one problem after another."""

    case: GpuCase

    def __init__(self, order: str) -> None:
        self.order = order
        self.offsets = torch.zeros(4, dtype=torch.int32, device="cuda")
        like = {"dtype": torch.bfloat16, "device": "cuda"}
        if order == "tensor2d":
            self.x, self.dy = torch.empty(TOKENS, M, **like), torch.empty(TOKENS, N, **like)
            self.a, self.b = self.x.t(), self.dy
        else:
            self.x, self.dy = torch.empty(M, TOKENS, **like), torch.empty(N, TOKENS, **like)
            self.a, self.b = self.x, self.dy.t()

    def fill(self, counts: list[int], seed: int) -> None:
        self.case = case = make(counts, M, N, slack=TOKENS - sum(counts), seed=seed)
        self.offsets.copy_(case.offsets)
        for mine, given in ((self.x, case.x), (self.dy, case.dy)):
            mine.copy_(given if self.order == "tensor2d" else ragged(given, case.ends))

    def tensors(self) -> tuple:
        return self.a, self.b, None, None, self.offsets


@pytest.mark.parametrize("accumulate", [False, True], ids=["overwrite", "accumulate"])
@pytest.mark.parametrize("order", ["tensor2d", "tensor_ragged"])
@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_f050_f051_one_operator_captured_twice(mode, order, accumulate):
    calls = [Call(order) for _ in range(2)]
    outs = [torch.empty(4, M, N, device="cuda") for _ in calls]
    discrete = {"num_experts": 4, "wgrad_shape": (M, N), "wgrad_dtype": torch.float32}
    operator = wgrad.GroupedGemmWgradSm100(
        *calls[0].tensors(), **({"sample_wgrad": outs[0]} if mode == "dense" else discrete),
        accumulate_on_output=accumulate, input_order=order,
    )
    operator.compile()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # the operator's first calls
        for call, out in zip(calls, outs):
            if mode == "dense":
                operator.execute(*call.tensors(), wgrad_tensor=out)
            else:
                operator.execute(*call.tensors(), wgrad_ptrs=wgrad.wgrad_expert_ptrs(out))
    start = 1.0 if accumulate else NAN
    for seed, counts in enumerate(zip(COUNTS, reversed(COUNTS))):
        for call, out, of_call in zip(calls, outs, counts):
            call.fill(of_call, seed)
            out.fill_(start)
        graph.replay()
        for call, out in zip(calls, outs):
            call.case.expect(out, start=start if accumulate else None)


def test_f091_f093_a_call_through_a_fresh_table_waits_for_nothing_and_takes_nothing():
    case = make([100, 0, 37, 500], 256, 384)
    outs = [case.output() for _ in range(2)]
    operator = case.operator(outs[0][0])
    operator.execute(*case.drop_in(), wgrad_ptrs=wgrad.wgrad_expert_ptrs(outs[0]))
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        torch.cuda._sleep(300_000_000)
        busy = torch.cuda.Event()
        busy.record()
        table = wgrad.wgrad_expert_ptrs(outs[1])
        before = torch.cuda.memory_stats()["allocation.all.allocated"]
        operator.execute(*case.drop_in(), wgrad_ptrs=table)
        assert torch.cuda.memory_stats()["allocation.all.allocated"] == before
        assert not busy.query(), "the call waited for the stream"
    finally:
        torch.cuda.set_sync_debug_mode("default")
    case.expect(outs[1])


def test_a_table_is_filled_on_the_stream_that_is_named():
    """Not on the current one, for whose work the named one does not wait."""
    case = make([64, 3, 128], 128, 256)
    side = torch.cuda.Stream()
    for stream in (side, side.cuda_stream):
        out = case.output()
        operator = case.operator(out[0])
        warm = wgrad.wgrad_expert_ptrs(out)  # kept, so that no table takes its memory
        operator.execute(*case.drop_in(), wgrad_ptrs=warm)
        out.fill_(NAN)
        torch.cuda.synchronize()
        torch.cuda._sleep(150_000_000)
        busy = torch.cuda.Event()
        busy.record()
        table = wgrad.wgrad_expert_ptrs(out, stream)
        operator.execute(*case.drop_in(), wgrad_ptrs=table, current_stream=stream)
        side.synchronize()
        assert not busy.query(), "the named stream waited for the current one"
        case.expect(out)
