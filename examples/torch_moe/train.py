"""Trains the digits mixture on torch; wgrad computes the experts' weight gradients.

    python examples/torch_moe/train.py [--epochs N] [--device cpu|cuda] [--hidden N] [--batch N]

The same command on a CPU and on a GPU. At the end, the time of a step (forward and backward) with
torch's grouped matmul and its own backward pass, beside that with wgrad's weight gradient.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parents[1] / "digits"))
from data import digits  # noqa: E402
from model import Mixture, own_backward, wgrad_backward  # noqa: E402

EXPERTS, CHOSEN, RATE = 8, 2, 0.004


def train(model, x, labels, epochs, batch, seed):
    """Trains in place; the loss of each step, and the tokens of each expert in it."""
    optimizer = torch.optim.Adam(model.parameters(), RATE)
    generator = torch.Generator().manual_seed(seed)
    losses, counts = [], []
    for _ in range(epochs):
        order = torch.randperm(len(x), generator=generator).to(x.device)
        for begin in range(0, len(x) - batch + 1, batch):
            rows = order[begin : begin + batch]
            loss = torch.nn.functional.cross_entropy(model(x[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            model.rebalance()
            losses.append(loss.detach())
            counts.append(model.counts)
    return torch.stack(losses).cpu(), torch.stack(counts).cpu()


def step_times(models, x, labels, rounds):
    """Median milliseconds of forward and backward of each model, taken in turns."""
    times = {name: [] for name in models}
    for _ in range(rounds):
        for name, model in models.items():
            start = time.perf_counter()
            torch.nn.functional.cross_entropy(model(x), labels).backward()
            if x.is_cuda:
                torch.cuda.synchronize()
            times[name].append(1e3 * (time.perf_counter() - start))
            model.zero_grad()
    return {name: statistics.median(taken[2:]) for name, taken in times.items()}


@torch.no_grad()
def accuracy(model, x, labels):
    return (model(x).argmax(1) == labels).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--hidden", type=int, default=32)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=30, help="timed steps of each kind")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options = parser.parse_args()
    train_x, train_y, test_x, test_y = (
        torch.from_numpy(part).to(options.device) for part in digits(options.seed)
    )
    torch.manual_seed(options.seed)
    model = Mixture(EXPERTS, options.hidden, CHOSEN).to(options.device)
    loss, counts = train(model, train_x, train_y, options.epochs, options.batch, options.seed)
    print(f"{options.device}: loss {loss[0]:.3f} -> {loss[-20:].mean():.4f}, "
          f"test accuracy {accuracy(model, test_x, test_y):.1%}; "
          f"tokens of an expert in a step: {counts.min()} to {counts.max()}")
    if not hasattr(torch.nn.functional, "grouped_mm"):
        print("this torch has no grouped_mm to be timed beside")
        return
    models = {}
    for name, product in (("grouped_mm", own_backward), ("wgrad", wgrad_backward)):
        models[name] = Mixture(EXPERTS, options.hidden, CHOSEN, product).to(options.device)
    for name, ms in step_times(models, train_x, train_y, options.rounds).items():
        print(f"a step of {len(train_x)} pictures, weight gradient by {name}: {ms:.2f} ms")


if __name__ == "__main__":
    main()
