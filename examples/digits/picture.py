"""One picture: the training curve, and the tokens of each expert over time."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np


def draw(path, mixture_loss, dense_loss, counts, accuracies):
    """`counts` is (steps, E); losses are per step."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), constrained_layout=True)
    for name, loss, colour in (("mixture", mixture_loss, "C0"), ("dense", dense_loss, "C1")):
        left.plot(loss, color=colour, alpha=0.25, linewidth=0.8)
        width = min(15, len(loss))
        smooth = np.convolve(loss, np.ones(width) / width, mode="valid")
        label = f"{name}: test accuracy {accuracies[name]:.1%}"
        left.plot(np.arange(len(smooth)) + width - 1, smooth, color=colour, label=label)
    left.set(xlabel="step", ylabel="training loss", yscale="log", title="Handwritten digits")
    left.legend()
    image = right.imshow(counts.T, aspect="auto", cmap="viridis", interpolation="nearest")
    ticks = range(counts.shape[1]) if counts.shape[1] <= 16 else None
    right.set(xlabel="step", ylabel="expert", title="Tokens of each expert", yticks=ticks or [])
    figure.colorbar(image, ax=right, label="tokens in the step")
    figure.savefig(path, dpi=110)
    plt.close(figure)
