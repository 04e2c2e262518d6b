"""Experts spread over ranks: tokens travel by all-to-all, weight gradients hide the way back."""

import torch
import torch.distributed as dist
import wgrad.torch as layers


def exchange(tokens, sent, received, group):
    """Rows to their ranks: `sent` and `received` are rows by rank. (result, the work to wait for)"""
    out = tokens.new_empty((sum(received), tokens.shape[1]))
    work = dist.all_to_all_single(out, tokens.contiguous(), received, sent, group, async_op=True)
    return out, work


class AllToAll(torch.autograd.Function):
    """exchange(), and in the backward pass the way back; `meanwhile` runs while that is under way."""

    @staticmethod
    def forward(ctx, tokens, sent, received, group, meanwhile):
        ctx.way = received, sent, group
        ctx.meanwhile = meanwhile
        out, work = exchange(tokens, sent, received, group)
        work.wait()
        return out

    @staticmethod
    def backward(ctx, gradient):
        out, work = exchange(gradient, *ctx.way)
        if ctx.meanwhile is not None:
            ctx.meanwhile()
        work.wait()
        return out, None, None, None, None


class ExpertParallel(torch.nn.Module):
    """`experts` feed-forward networks, as many on each rank of `mesh`; bfloat16 products, float32
    parameters and main_grad. On a GPU weight gradients leave `spare` multiprocessors to the
    collective beside them."""

    def __init__(self, experts, width, inner, mesh, device, spare=16):
        super().__init__()
        self.group, self.ranks = mesh.get_group(), mesh.size()
        self.local = experts // self.ranks
        limit = None
        if device.type == "cuda":
            limit = torch.cuda.get_device_properties(device).multi_processor_count - spare
        self.network = layers.GroupedMLP(
            self.local, width, inner, device=device, delay=True, sm_limit=limit
        )
        for parameter in self.parameters():
            parameter.main_grad = torch.zeros_like(parameter)

    def forward(self, rows, counts, is_first_microbatch):
        """`rows` (t, width) sorted by expert, `counts` (experts,) of them; the same for the result."""
        arriving = torch.empty_like(counts)  # by source rank, then by expert here
        dist.all_to_all_single(arriving, counts, group=self.group)
        sent = counts.view(self.ranks, -1).sum(1).tolist()
        arriving = arriving.view(self.ranks, self.local)
        received = arriving.sum(1).tolist()
        here = AllToAll.apply(rows.bfloat16(), sent, received, self.group, self.network.backward_dw)
        expert = torch.arange(self.local, device=rows.device).repeat(self.ranks)
        order = expert.repeat_interleave(arriving.flatten()).argsort(stable=True)
        offsets = arriving.sum(0).cumsum(0, dtype=torch.int32)
        with torch.autocast(rows.device.type, torch.bfloat16):
            out = self.network(here[order], offsets, is_first_microbatch)
        back = torch.empty_like(out).index_copy(0, order, out)
        return AllToAll.apply(back, received, sent, self.group, None).float()
