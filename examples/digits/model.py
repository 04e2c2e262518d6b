"""A mixture of experts with a top-k router, and the dense network beside it; numpy, by hand.

Each expert is x -> relu(x @ w1) @ w2. Its weight gradients are computed by a function that is handed
in, `expert_gradient(x, dy, offsets) -> (E, M, N)`, for tokens sorted by expert.
"""

import numpy as np
from data import CLASSES, FEATURES

DIGITS = 10


def softmax(logits):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def cross_entropy(logits, labels):
    """Mean loss over the ten digits, and its gradient by logits."""
    p = np.zeros_like(logits)
    p[:, :DIGITS] = softmax(logits[:, :DIGITS])
    rows = np.arange(len(labels))
    loss = -np.log(p[rows, labels] + 1e-12).mean()
    p[rows, labels] -= 1
    return loss, p / len(labels)


class Mixture:
    """`experts` experts of `hidden` units, `chosen` of them for each token; 1 expert is a dense net."""

    def __init__(self, experts, hidden, chosen, seed):
        random = np.random.default_rng(seed)

        def weights(*shape):
            return random.normal(0, np.sqrt(2 / shape[-2]), shape).astype(np.float32)

        self.chosen = chosen
        self.router = weights(FEATURES, experts)
        self.balance = np.zeros(experts)  # added to a logit for the choice, not for the gate
        self.w1 = weights(experts, FEATURES, hidden)
        self.w2 = weights(experts, hidden, CLASSES)

    @property
    def parameters(self):
        return {"router": self.router, "w1": self.w1, "w2": self.w2}

    def route(self, x):
        """Assignments (token, place in its choice), sorted by expert, their ends, and the gates."""
        logits = x @ self.router
        choice = np.argsort(-(logits + self.balance), axis=1, kind="stable")[:, : self.chosen]
        gates = softmax(np.take_along_axis(logits, choice, axis=1))
        order = np.argsort(choice.ravel(), kind="stable")
        counts = np.bincount(choice.ravel(), minlength=self.router.shape[1])
        return choice, gates, order, np.cumsum(counts, dtype=np.int32)

    def forward(self, x):
        """Logits (count, CLASSES), and what backward() needs."""
        choice, gates, order, ends = self.route(x)
        token, place = order // self.chosen, order % self.chosen
        rows = x[token]
        hidden = np.empty((len(rows), self.w1.shape[2]), x.dtype)
        out = np.empty((len(rows), CLASSES), x.dtype)
        for e, (begin, end) in enumerate(zip(np.r_[0, ends[:-1]], ends)):
            hidden[begin:end] = np.maximum(rows[begin:end] @ self.w1[e], 0)
            out[begin:end] = hidden[begin:end] @ self.w2[e]
        logits = np.zeros((len(x), CLASSES), x.dtype)
        np.add.at(logits, token, gates[token, place, None] * out)
        return logits, (choice, gates, token, place, ends, rows, hidden, out)

    def backward(self, x, dlogits, saved, expert_gradient):
        """Gradients by parameter name."""
        choice, gates, token, place, ends, rows, hidden, out = saved
        dout = gates[token, place, None] * dlogits[token]
        dhidden = np.empty_like(hidden)
        for e, (begin, end) in enumerate(zip(np.r_[0, ends[:-1]], ends)):
            dhidden[begin:end] = dout[begin:end] @ self.w2[e].T
        dhidden[hidden == 0] = 0
        dgates = np.zeros_like(gates)
        dgates[token, place] = (dlogits[token] * out).sum(axis=1)
        dchosen = gates * (dgates - (gates * dgates).sum(axis=1, keepdims=True))
        drouter_logits = np.zeros((len(x), self.router.shape[1]), x.dtype)
        np.put_along_axis(drouter_logits, choice, dchosen, axis=1)
        return {
            "router": x.T @ drouter_logits,
            "w1": expert_gradient(rows, dhidden, ends),
            "w2": expert_gradient(hidden, dout, ends),
        }

    def rebalance(self, counts):
        """Makes experts with fewer tokens than others a little likelier to be chosen."""
        self.balance += 0.01 * np.sign(counts.mean() - counts)

    def accuracy(self, x, labels):
        logits, _ = self.forward(x)
        return float((logits[:, :DIGITS].argmax(axis=1) == labels).mean())


class Adam:
    def __init__(self, parameters, rate):
        self.rate, self.steps = rate, 0
        self.moments = {name: [np.zeros_like(p), np.zeros_like(p)] for name, p in parameters.items()}

    def step(self, parameters, gradients):
        self.steps += 1
        for name, p in parameters.items():
            m, v = self.moments[name]
            m += 0.1 * (gradients[name] - m)
            v += 0.001 * (gradients[name] ** 2 - v)
            m_hat, v_hat = m / (1 - 0.9**self.steps), v / (1 - 0.999**self.steps)
            p -= self.rate * m_hat / (np.sqrt(v_hat) + 1e-8)
