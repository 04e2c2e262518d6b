"""A mixture of experts with a top-k router, in torch; the experts' product is handed in."""

import torch
import wgrad.torch as layers

FEATURES, CLASSES, DIGITS = 72, 16, 10


def own_backward(x, weight, offsets):
    """torch's grouped matmul with its own backward pass, which has no expanded gradients."""
    return torch.nn.functional.grouped_mm(x, weight, offs=offsets)


def wgrad_backward(x, weight, offsets):
    """The same forward pass; the weight gradient by wgrad."""
    return layers.grouped_linear(x, weight, offsets)


class Mixture(torch.nn.Module):
    """`experts` experts x -> relu(x @ w1) @ w2 of `hidden` units, `chosen` of them for each token.

    Products are of bfloat16; parameters and their gradients are float32 under `wgrad_backward`, which
    rounds once. A token's experts are chosen by logits plus `balance`, weighted by logits alone.
    """

    def __init__(self, experts, hidden, chosen, product=wgrad_backward):
        super().__init__()
        self.chosen, self.product = chosen, product
        self.router = torch.nn.Linear(FEATURES, experts, bias=False)
        self.register_buffer("balance", torch.zeros(experts))
        self.w1 = torch.nn.Parameter(torch.randn(experts, FEATURES, hidden) * (2 / FEATURES) ** 0.5)
        self.w2 = torch.nn.Parameter(torch.randn(experts, hidden, CLASSES) * (2 / hidden) ** 0.5)
        self.counts = None  # tokens of each expert in the last forward pass

    def forward(self, x):
        """(count, FEATURES) to logits (count, DIGITS)."""
        logits = self.router(x)
        choice = (logits + self.balance).topk(self.chosen, dim=1).indices
        gates = logits.gather(1, choice).softmax(1)
        order = choice.flatten().argsort(stable=True)
        self.counts = choice.flatten().bincount(minlength=len(self.balance))
        offsets = self.counts.cumsum(0, dtype=torch.int32)
        token = order // self.chosen
        out = self.experts(x[token], offsets) * gates.flatten()[order, None]
        sums = out.new_zeros(len(x), CLASSES).index_add(0, token, out)
        return sums[:, :DIGITS]

    def experts(self, rows, offsets):
        if self.product is wgrad_backward:  # casts by itself, and keeps float32 gradients
            with torch.autocast(rows.device.type, torch.bfloat16):
                inner = self.product(rows, self.w1, offsets).relu()
                return self.product(inner, self.w2, offsets).float()
        w1, w2 = self.w1.bfloat16(), self.w2.bfloat16()
        inner = self.product(rows.bfloat16(), w1, offsets).relu()
        return self.product(inner, w2, offsets).float()

    @torch.no_grad()
    def rebalance(self):
        """Makes experts with fewer tokens than others a little likelier to be chosen."""
        counts = self.counts.float()
        self.balance += 0.01 * (counts.mean() - counts).sign()
