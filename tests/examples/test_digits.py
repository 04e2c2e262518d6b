"""The digits example does what it says, on a short run."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits"


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE))
    import data
    import gradients
    import model
    import train

    return train, model, gradients, data


def test_loss_falls_and_every_gradient_is_compared(example):
    train, model, gradients, data = example
    x, labels, test_x, test_labels = data.digits(1)
    mixture = model.Mixture(train.EXPERTS, train.HIDDEN, train.CHOSEN, 1)
    checked = gradients.CheckedGradient()
    loss, counts = train.train(mixture, checked, x, labels, 6, 1)
    assert loss[-10:].mean() < 0.3 * loss[:3].mean()
    assert checked.calls == 2 * len(loss)
    assert checked.empty_experts > 0, "no step had an expert without tokens"
    assert counts.sum(axis=1).tolist() == [train.CHOSEN * train.BATCH] * len(loss)
    assert counts.max() > train.CHOSEN * train.BATCH / train.EXPERTS
    assert mixture.accuracy(test_x, test_labels) > 0.85


def test_the_same_seed_trains_the_same_model(example):
    train, model, gradients, data = example
    x, labels, _, _ = data.digits(1)
    losses = [
        train.train(model.Mixture(train.EXPERTS, train.HIDDEN, train.CHOSEN, 1), gradients.CheckedGradient(), x, labels, 1, 1)[0]
        for _ in range(2)
    ]
    assert np.array_equal(*losses)


def test_gradients_by_hand_are_those_of_the_loss(example):
    train, model, gradients, data = example
    x, labels, _, _ = data.digits(1)
    x, labels = x[:32].astype(np.float64), labels[:32]
    mixture = model.Mixture(6, 8, 2, 3)
    for name, parameter in mixture.parameters.items():
        setattr(mixture, name, parameter.astype(np.float64))
    logits, saved = mixture.forward(x)
    _, dlogits = model.cross_entropy(logits, labels)
    found = mixture.backward(x, dlogits, saved, gradients.loop)
    random = np.random.default_rng(0)
    for name, parameter in mixture.parameters.items():
        direction = random.normal(size=parameter.shape)
        direction *= np.abs(found[name]) > 0  # an expert without tokens stays where it is
        step = 1e-6 / np.abs(direction).max()
        values = []
        for sign in (1, -1):
            parameter += sign * step * direction
            values.append(model.cross_entropy(mixture.forward(x)[0], labels)[0])
            parameter -= sign * step * direction
        slope = (values[0] - values[1]) / (2 * step)
        assert slope == pytest.approx((found[name] * direction).sum(), rel=1e-4), name


def test_a_wrong_gradient_is_caught(example):
    _, _, gradients, _ = example
    x, dy = np.ones((5, 8), np.float32), np.ones((5, 8), np.float32)
    ends = np.array([3, 3, 5], np.int32)
    right = gradients.loop(x, dy, ends)
    gradients.CheckedGradient().compare(right, x, dy, ends)
    for expert in (0, 1):
        wrong = right.copy()
        wrong[expert, 2, 2] += 0.01
        with pytest.raises(AssertionError):
            gradients.CheckedGradient().compare(wrong, x, dy, ends)


def test_the_script_ends_with_its_result_and_a_picture(tmp_path):
    picture = tmp_path / "digits.png"
    result = subprocess.run(
        [sys.executable, EXAMPLE / "train.py", "--epochs", "2", "--picture", picture],
        text=True, capture_output=True, check=True, timeout=300)
    assert "gradients by wgrad equal the loop's within" in result.stdout
    assert result.stdout.splitlines()[-1].startswith("test accuracy: mixture ")
    assert picture.read_bytes()[:4] == b"\x89PNG"
