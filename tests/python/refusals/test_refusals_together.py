"""Every broken rule that can be seen is told at once, whoever judges it."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np
import pytest

import wgrad

BF16 = np.dtype(ml_dtypes.bfloat16)
T, M, N, E = 16, 16, 32, 2


def refused(call):
    with pytest.raises(ValueError) as caught:
        call()
    text = str(caught.value)
    assert text == "wgrad: " + "\n".join(str(reason) for reason in caught.value.reasons)
    assert len(set(caught.value.reasons)) == len(caught.value.reasons), text
    return {reason.field for reason in caught.value.reasons}


def natural(**changes):
    arguments = {
        "x": np.ones((T, M), BF16),
        "dy": np.ones((T, N), BF16),
        "offsets": np.array([4, T], np.int32),
        **changes,
    }
    return lambda: wgrad.grouped_wgrad(**arguments)


def drop_in(kind, **changes):
    tensors = {
        "a_tensor": np.ones((T, M), BF16).T,
        "b_tensor": np.ones((T, N), BF16),
        "sfa_tensor": None,
        "sfb_tensor": None,
        "offsets_tensor": np.array([4, T], np.int32),
        **changes,
    }
    if kind == "wrapper":
        return lambda: wgrad.grouped_gemm_wgrad_wrapper_sm100(**tensors)
    samples = {key.replace("_tensor", ""): value for key, value in tensors.items()}
    named = {f"sample_{key}" if key in SAMPLES else key: samples[key] for key in samples}
    return lambda: wgrad.GroupedGemmWgrad(**named).check_support()


SAMPLES = ("a", "b", "sfa", "sfb", "offsets", "wgrad")
#: One fault of each family: an argument, and what is told of it in the words of grouped_wgrad.
FAULTS = {
    "a dtype": ({"x": np.ones((T, M), np.float64)}, "x"),
    "no tensor": ({"dy": "dy"}, "dy"),
    "a rank": ({"offsets": np.array([[4, T]], np.int32)}, "offsets"),
    "an output's dtype": ({"out": np.zeros((E, M, N), np.float64)}, "out"),
    "a workspace": ({"workspace": np.zeros(3, np.uint8)}, "workspace"),
    "a stream on a CPU": ({"stream": 7}, "stream"),
    "an option of another kind": ({"accumulate": "yes"}, "accumulate"),
    "an option's value": ({"acc_dtype": "bfloat16"}, "acc_dtype"),
    "a tiling": ({"mma_tiler_mn": (100, 100)}, "mma_tiler_mn"),
    "a backend": ({"backend": "abacus"}, "backend"),
    "a limit without multiprocessors": ({"sm_limit": 8}, "sm_limit"),
    "a name of no order": ({"input_order": "sorted"}, "input_order"),
}


@pytest.mark.parametrize(("first", "second"), [*itertools.combinations(FAULTS, 2)])
def test_two_faults_are_told_together(first, second):
    told = refused(natural(**FAULTS[first][0], **FAULTS[second][0]))
    assert told >= {FAULTS[first][1], FAULTS[second][1]}


def test_all_of_them_at_once():
    changes = {}
    for change, _ in FAULTS.values():
        changes |= change
    assert refused(natural(**changes)) >= {field for _, field in FAULTS.values()}


def test_what_an_operator_refuses_comes_with_what_the_call_does():
    misaligned = np.zeros(T * M + 1, BF16)[1:].reshape(T, M)
    told = refused(
        natural(
            x=misaligned,
            dy=np.ones((T, 43), BF16),
            offsets=np.array([T, 4], np.int32),
            mma_tiler_mn=(64, 64),
            backend="abacus",
        )
    )
    assert told == {
        "mma_tiler_mn",
        "backend",
        "x",
        "N (columns of dy)",
        "leading dimension of dy",
        "offsets[1]",
    }


@pytest.mark.parametrize("kind", ["wrapper", "operator"])
def test_the_drop_in_names_tell_all_too(kind):
    prefix, suffix = ("", "_tensor") if kind == "wrapper" else ("sample_", "")
    told = refused(
        drop_in(
            kind,
            a_tensor=np.ones((M, T), np.float64),
            offsets_tensor=np.array([4, T], np.int64),
            wgrad_tensor=np.zeros((E, M, N + 1), BF16),
            accumulate_on_output=1,
            acc_dtype="float16",
            mma_tiler_mn=(1, 2, 3),
            cluster_shape_mn=(3, 1),
        )
    )
    tensors = {prefix + name + suffix for name in ("a", "offsets", "wgrad")}
    assert told == tensors | {"accumulate_on_output", "acc_dtype", "mma_tiler_mn", "cluster_shape_mn"}


def test_support_tells_all_too():
    with pytest.raises(ValueError, match="x is float64(.|\n)*offsets is int64|acc_dtype is 'x'"):
        wgrad.support(np.ones((T, M)), np.ones((T, N), BF16), np.array([4, T]), acc_dtype="x")


def test_what_was_not_given_is_not_blamed():
    told = refused(natural(dy=np.ones((T, 48), BF16)[:, :43], mma_tiler_mn=(64, 64)))
    assert told == {"N (columns of dy)", "mma_tiler_mn"}, "neither out nor its row pitch"
    out = np.zeros((E, M, 48), BF16)[:, :, :43]
    wgrad.grouped_wgrad(np.ones((T, M), BF16), np.ones((T, 48), BF16)[:, :43], np.array([4, T], np.int32), out)
    assert (out[0] == 4).all() and (out[1] == T - 4).all(), "the way that the refusal names"


def test_a_refusal_says_the_way_where_there_is_one():
    flipped = np.zeros((E, N, M), BF16)
    for out in (flipped, list(flipped)):
        with pytest.raises(ValueError, match=r"for \(N, M\) swap x and dy"):
            natural(out=out)()
    with pytest.raises(ValueError, match=r"strided by .* for \(N, M\) swap x and dy"):
        natural(out=flipped.transpose(0, 2, 1))()
    with pytest.raises(ValueError, match="to accumulate some only, zero the others' outputs first"):
        natural(out=np.zeros((E, M, N), BF16), accumulate=[True, False])()
