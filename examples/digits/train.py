"""Trains a small mixture of experts on handwritten digits; wgrad computes every expert gradient.

    python examples/digits/train.py [--epochs N] [--seed N] [--picture PATH]

Each step's gradients are compared with a loop over experts, and a dense network of as many active
units is trained beside it. The same seed gives the same numbers on the same machine.
"""

import argparse
import time

import numpy as np
from data import digits
from gradients import TOLERANCE, CheckedGradient, loop
from model import Adam, Mixture, cross_entropy

EXPERTS, HIDDEN, CHOSEN, BATCH, RATE = 8, 32, 2, 64, 0.004


def train(model, expert_gradient, x, labels, epochs, seed):
    """Trains in place; (loss, tokens of each expert) of each step."""
    optimizer = Adam(model.parameters, RATE)
    random = np.random.default_rng(seed)
    losses, counts = [], []
    for epoch in range(epochs):
        order = random.permutation(len(x))
        for begin in range(0, len(x) - BATCH + 1, BATCH):
            batch = order[begin : begin + BATCH]
            logits, saved = model.forward(x[batch])
            loss, dlogits = cross_entropy(logits, labels[batch])
            gradients = model.backward(x[batch], dlogits, saved, expert_gradient)
            optimizer.step(model.parameters, gradients)
            losses.append(loss)
            counts.append(np.diff(saved[4], prepend=0))
            model.rebalance(counts[-1])
        if epoch % max(epochs // 6, 1) == 0 or epoch == epochs - 1:
            steps = len(x) // BATCH
            print(f"  epoch {epoch + 1:3}  loss {np.mean(losses[-steps:]):.4f}")
    return np.array(losses), np.array(counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", default="digits.png")
    options = parser.parse_args()
    train_x, train_y, test_x, test_y = digits(options.seed)

    print(f"mixture: {EXPERTS} experts of {HIDDEN} units, {CHOSEN} for each token")
    start = time.perf_counter()
    gradient = CheckedGradient()
    mixture = Mixture(EXPERTS, HIDDEN, CHOSEN, options.seed)
    loss, counts = train(mixture, gradient, train_x, train_y, options.epochs, options.seed)
    print(f"dense: {HIDDEN * CHOSEN} units")
    dense = Mixture(1, HIDDEN * CHOSEN, 1, options.seed)
    dense_loss, _ = train(dense, loop, train_x, train_y, options.epochs, options.seed)
    seconds = time.perf_counter() - start

    accuracies = {
        "mixture": mixture.accuracy(test_x, test_y),
        "dense": dense.accuracy(test_x, test_y),
    }
    from picture import draw

    draw(options.picture, loss, dense_loss, counts, accuracies)
    print(f"{gradient.calls} gradients by wgrad equal the loop's within {TOLERANCE:.1e} of sum|x*dy|; "
          f"largest difference {gradient.largest_difference:.1e}")
    print(f"tokens of an expert in a step: {counts.min()} to {counts.max()}; "
          f"{gradient.empty_experts // 2} times an expert had none")
    print(f"loss {loss[0]:.3f} -> {loss[-20:].mean():.4f}; picture: {options.picture}; {seconds:.1f} s")
    print(f"test accuracy: mixture {accuracies['mixture']:.1%}, dense {accuracies['dense']:.1%}")


if __name__ == "__main__":
    main()
