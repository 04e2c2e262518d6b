"""A classifier of digits around a mixture of experts, and the same in one process by a loop."""

import torch

FEATURES, WIDTH, INNER, EXPERTS, CHOSEN, CLASSES = 72, 64, 48, 8, 2, 10


class Dense(torch.nn.Module):
    """All that is no expert; FSDP2 shards it."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Linear(FEATURES, WIDTH)
        self.router = torch.nn.Linear(WIDTH, EXPERTS)
        self.head = torch.nn.Linear(WIDTH, CLASSES)

    def forward(self, x, experts, allowed):
        """Logits; `experts(rows, counts)` computes rows sorted by expert. Experts from `allowed` on
        get no token, which leaves ranks without any."""
        hidden = self.embed(x).relu()
        logits = self.router(hidden)
        logits = logits.masked_fill(torch.arange(EXPERTS, device=x.device) >= allowed, -torch.inf)
        gates, choice = logits.softmax(1).topk(CHOSEN, dim=1)
        order = choice.flatten().argsort(stable=True)
        counts = choice.flatten().bincount(minlength=EXPERTS)
        token = order // CHOSEN
        out = experts(hidden[token], counts) * gates.flatten()[order, None]
        return self.head(hidden.index_add(0, token, out))


class Loop(torch.nn.Module):
    """All experts in one process, one after another, in float32 of values rounded to bfloat16."""

    def __init__(self, gate_up, down):
        super().__init__()
        self.gate_up, self.down = torch.nn.Parameter(gate_up), torch.nn.Parameter(down)

    def forward(self, rows, counts):
        parts = []
        for e, mine in enumerate(rounded(rows).split(counts.tolist())):
            gate, up = rounded(mine @ straight(self.gate_up[e])).chunk(2, -1)
            inner = rounded(rounded(torch.nn.functional.silu(gate)) * up)
            parts.append(rounded(inner @ straight(self.down[e])))
        return torch.cat(parts)


def rounded(x):
    """To bfloat16 and back, and so is its gradient."""
    return x.bfloat16().float()


def straight(weight):
    """The value rounded to bfloat16, the gradient as it is."""
    return weight + (rounded(weight) - weight).detach()


def parameters_of_experts(seed):
    """(gate_up, down) of all experts, drawn alike on every rank."""
    generator = torch.Generator().manual_seed(seed)
    gate_up = torch.randn(EXPERTS, WIDTH, 2 * INNER, generator=generator) * WIDTH**-0.5
    return gate_up, torch.randn(EXPERTS, INNER, WIDTH, generator=generator) * INNER**-0.5
