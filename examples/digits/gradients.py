"""Expert weight gradients: by wgrad, and by a loop over experts to compare with."""

import ml_dtypes
import numpy as np
import wgrad

# float32 sums of k products, taken in another order, differ by a few roundings of sum |x * dy|.
TOLERANCE = 2.0**-18


def loop(x, dy, ends):
    """The same operation, expert by expert in float32."""
    return np.stack([x[b:e].T @ dy[b:e] for b, e in zip(np.r_[0, ends[:-1]], ends)])


class CheckedGradient:
    """Calls wgrad.grouped_wgrad on bfloat16 operands; each result must equal the loop's within
    TOLERANCE * sum |x * dy|, and be exactly zero for an expert without tokens."""

    def __init__(self):
        self.calls = 0
        self.empty_experts = 0
        self.largest_difference = 0.0  # relative to sum |x * dy|

    def __call__(self, x, dy, ends):
        x, dy = x.astype(ml_dtypes.bfloat16), dy.astype(ml_dtypes.bfloat16)
        got = wgrad.grouped_wgrad(x, dy, ends, out_dtype=np.float32)
        self.compare(got, x.astype(np.float32), dy.astype(np.float32), ends)
        return got

    def compare(self, got, x, dy, ends):
        self.calls += 1
        empty = np.diff(ends, prepend=0) == 0
        self.empty_experts += int(empty.sum())
        if got[empty].any():
            raise AssertionError("an expert without tokens has a gradient that is not zero")
        scale = loop(np.abs(x), np.abs(dy), ends)
        difference = np.abs(got - loop(x, dy, ends))
        if not (difference <= TOLERANCE * scale).all():
            raise AssertionError(f"wgrad and the loop differ by {difference.max()}")
        relative = difference / np.where(scale > 0, scale, 1)
        self.largest_difference = max(self.largest_difference, float(relative.max()))
