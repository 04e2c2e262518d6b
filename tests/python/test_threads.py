"""Several threads at once: right results, and the GIL free while the CPU works."""

from __future__ import annotations

import threading
import time

import ml_dtypes
import numpy as np

import wgrad

import reference


def test_one_operator_from_many_threads():
    rng = np.random.default_rng(0)
    calls = []
    for seed in range(8):
        counts = list(np.random.default_rng(seed).integers(0, 20, 4))
        ends = reference.offsets(counts)
        x = reference.integers(rng, (int(ends[-1]), 24))
        dy = reference.integers(rng, (int(ends[-1]), 40))
        tensors = (x.astype(ml_dtypes.bfloat16), dy.astype(ml_dtypes.bfloat16), ends)
        calls.append((tensors, reference.product(x, dy, ends)))
    wrong = []

    def work(tensors, expected):
        for _ in range(20):
            out = wgrad.grouped_wgrad(*tensors, out_dtype="float32")
            (same,) = wgrad.grouped_gemm_wgrad_wrapper_sm100(
                tensors[0].T, tensors[1], None, None, tensors[2], wgrad_dtype="float32"
            )
            if not (np.array_equal(out, expected) and np.array_equal(same, expected)):
                wrong.append(tensors)

    threads = [threading.Thread(target=work, args=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_gil_is_free_during_a_run():
    """A Python thread keeps counting while another is inside one long run."""
    x = np.ones((512, 256), ml_dtypes.bfloat16)
    dy = np.ones((512, 256), ml_dtypes.bfloat16)
    ends = np.array([512], np.int32)
    begun, ended = threading.Event(), threading.Event()

    def run():
        begun.set()
        wgrad.grouped_wgrad(x, dy, ends, backend="reference")  # plain loops: slow on purpose
        ended.set()

    thread = threading.Thread(target=run)
    thread.start()
    begun.wait()
    ticks = 0
    while not ended.is_set():
        time.sleep(0.001)
        ticks += 1
    thread.join()
    assert ticks > 3
