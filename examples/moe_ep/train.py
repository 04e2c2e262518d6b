"""Trains a mixture of experts with expert and data parallelism on torch.distributed.

    python examples/moe_ep/train.py --processes 4 --replicas 2 [--steps N] [--check]
    torchrun --nproc-per-node 8 examples/moe_ep/train.py --replicas 2 [--steps N] [--check]

The first command starts the processes itself. On GPUs NCCL carries the tokens, on CPUs gloo does.
--replicas is the number of data-parallel copies of every expert; the ranks are split by it. Every
third step leaves the ranks of the upper experts without a token. --check trains the same model in
one process with a loop over experts, and compares every loss. --save and --load name a folder.
"""

import argparse
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

sys.path.append(str(Path(__file__).resolve().parents[1] / "digits"))
import checkpoint  # noqa: E402
import model  # noqa: E402
from data import digits  # noqa: E402
from experts import ExpertParallel  # noqa: E402

MICRO_BATCHES, MICRO_BATCH, RATE, SEED = 2, 64, 0.2, 5


def sgd(parameters):
    return torch.optim.SGD(parameters, RATE, momentum=0.9)


def allowed(step):
    """Experts that may get tokens: a half of them in every third step."""
    return model.EXPERTS // 2 if step % 3 == 2 else model.EXPERTS


def batches(step, x, labels):
    """The global micro-batches of a step, the same on every rank."""
    generator = torch.Generator().manual_seed(1000 + step)
    rows = torch.randint(len(x), (MICRO_BATCHES, MICRO_BATCH), generator=generator)
    return [(x[r], labels[r]) for r in rows]


class Run:
    """One rank's part of the model and of its optimizers."""

    def __init__(self, replicas, device):
        self.device, self.world = device, dist.get_world_size()
        shape = (replicas, self.world // replicas)
        self.mesh = init_device_mesh(device.type, shape, mesh_dim_names=("data", "expert"))
        everyone = init_device_mesh(device.type, (self.world,), mesh_dim_names=("all",))
        torch.manual_seed(SEED)
        self.dense = fully_shard(model.Dense().to(device), mesh=everyone)
        here = self.mesh["expert"]
        self.experts = ExpertParallel(model.EXPERTS, model.WIDTH, model.INNER, here, device)
        network, first = self.experts.network, here.get_local_rank() * self.experts.local
        with torch.no_grad():
            for layer, value in zip((network.gate_up, network.down), model.parameters_of_experts(SEED)):
                layer.weight.copy_(value[first : first + self.experts.local])
        self.dense_optimizer = sgd(self.dense.parameters())
        self.expert_optimizer = sgd(self.experts.parameters())

    def step(self, step, x, labels):
        """The loss of the global batch."""
        total = torch.zeros((), device=self.device)
        for i, (rows, targets) in enumerate(batches(step, x, labels)):
            mine = slice(dist.get_rank(), None, self.world)
            rows, targets = rows[mine].to(self.device), targets[mine].to(self.device)
            self.dense.set_requires_gradient_sync(i == MICRO_BATCHES - 1)
            logits = self.dense(rows, lambda r, c: self.experts(r, c, i == 0), allowed(step))
            loss = torch.nn.functional.cross_entropy(logits, targets) / MICRO_BATCHES
            loss.backward()
            total += loss.detach() / self.world
        for parameter in self.experts.parameters():  # dense gradients are FSDP's, and averaged
            parameter.grad = parameter.main_grad.div_(self.world)
            dist.all_reduce(parameter.grad, group=self.mesh["data"].get_group())
        for optimizer in (self.dense_optimizer, self.expert_optimizer):
            optimizer.step()
            optimizer.zero_grad()
        dist.all_reduce(total)
        return total.item()


def losses_of_one_process(steps, x, labels):
    """The same model and steps by a loop over experts."""
    torch.manual_seed(SEED)
    dense, experts = model.Dense(), model.Loop(*model.parameters_of_experts(SEED))
    optimizer = sgd([*dense.parameters(), *experts.parameters()])
    losses = []
    for step in steps:
        total = 0.0
        for rows, targets in batches(step, x, labels):
            logits = dense(rows, experts, allowed(step))
            loss = torch.nn.functional.cross_entropy(logits, targets) / MICRO_BATCHES
            loss.backward()
            total += loss.item()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(total)
    return losses


def train(options, device):
    x, labels = (torch.from_numpy(part) for part in digits(1)[:2])
    run = Run(options.replicas, device)
    first = 0
    if options.load:
        checkpoint.load(options.load, run)
        first = options.first
    steps = range(first, first + options.steps)
    losses = [run.step(step, x, labels) for step in steps]
    if options.save:
        checkpoint.save(options.save, run)
    if dist.get_rank() != 0:
        return
    print("losses", *(f"{loss:.6f}" for loss in losses), flush=True)
    if options.check:
        alone = losses_of_one_process(range(steps.stop), x, labels)[first:]
        worst = max(abs(a - b) / b for a, b in zip(losses, alone))
        print(f"largest difference from one process: {worst:.2e}", flush=True)
        if not worst < 2e-3:
            raise SystemExit("the losses differ from those of one process")


def worker(rank, options):
    """One process: a rank of torchrun, or one that main() started."""
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", rank % torch.cuda.device_count()) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if options.store:
        dist.init_process_group(
            "nccl" if cuda else "gloo", init_method=f"file://{options.store}", rank=rank,
            world_size=options.processes,
        )
    else:
        dist.init_process_group("nccl" if cuda else "gloo")
    try:
        train(options, device)
    finally:
        dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--first", type=int, default=0, help="the step that --load goes on with")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--save", default="")
    parser.add_argument("--load", default="")
    options = parser.parse_args()
    options.store = ""
    if "RANK" in os.environ:
        worker(int(os.environ.get("LOCAL_RANK", 0)), options)
        return
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        options.store = str(Path(folder, "store"))
        torch.multiprocessing.spawn(worker, (options,), options.processes)


if __name__ == "__main__":
    main()
