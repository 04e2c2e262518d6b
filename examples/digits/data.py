"""The handwritten digits that ship inside scikit-learn: 1797 pictures of 8 x 8 pixels."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

FEATURES = 72  # 64 pixels, a constant 1 (the bias), zeros up to a multiple of 8
CLASSES = 16  # 10 digits, padded so that gradient rows are multiples of 16 bytes


def digits(seed):
    """(train x, train labels, test x, test labels); x is (count, FEATURES) float32 in 0 .. 1."""
    pixels, labels = load_digits(return_X_y=True)
    x = np.zeros((len(pixels), FEATURES), np.float32)
    x[:, :64] = pixels / 16
    x[:, 64] = 1
    train_x, test_x, train_y, test_y = train_test_split(
        x, labels, test_size=0.2, random_state=seed, stratify=labels
    )
    return train_x, train_y, test_x, test_y
