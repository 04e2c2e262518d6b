"""wgrad_expert_ptrs, the table of a stacked output's experts, and sample_wgrad_expert."""

import numpy as np
import pytest
import wgrad

import drop_in
import frameworks


def stacked(framework, shape=(2, drop_in.M, drop_in.N), dtype="bfloat16"):
    return framework.full(shape, np.nan, dtype)


def test_it_is_a_table_of_the_framework(framework):
    out = stacked(framework)
    table = wgrad.wgrad_expert_ptrs(out)
    assert isinstance(table, type(framework.tensor(np.zeros(2), "int64")))
    want = [framework.address(out[0]), framework.address(out[1])]
    assert framework.to_numpy(table).astype(np.int64).tolist() == want
    assert str(table.dtype).endswith("int64")


@pytest.mark.parametrize("apart", [0, 8])
def test_results_go_where_it_points(framework, apart):
    case = drop_in.call(framework, np.random.default_rng(1), "bf16", drop_in.GROUPS)
    out = stacked(framework, (2, drop_in.M + apart, drop_in.N))[:, : drop_in.M]
    table = wgrad.wgrad_expert_ptrs(out)
    wgrad.grouped_gemm_wgrad_wrapper_sm100(
        **case["tensors"], output_mode="discrete", wgrad_ptrs=table
    )
    np.testing.assert_array_equal(framework.to_numpy(out), case["expected"])


def test_one_expert(framework):
    out = stacked(framework, (1, 8, 8))
    assert framework.to_numpy(wgrad.wgrad_expert_ptrs(out)).tolist() == [framework.address(out)]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda o: o[0], r"is of shape \(16, 64\); it must be 3-D, \(E, M, N\)"),
        (lambda o: o[:, :0], "none of them 0"),
        (lambda o: o[:, :, :32], "contiguous within each expert"),
        (lambda o: o[:, ::2], "contiguous within each expert"),
        (lambda o: o[:, :, 1:2], "contiguous within each expert"),
    ],
)
def test_other_layouts_are_refused(framework, change, text):
    with pytest.raises(ValueError, match=text):
        wgrad.wgrad_expert_ptrs(change(stacked(framework, (2, 16, 64))))


def test_overlapping_misaligned_and_integer_outputs_are_refused():
    memory = np.zeros(4096, np.float32)
    overlap = np.lib.stride_tricks.as_strided(memory, (2, 8, 8), (128, 32, 4))
    with pytest.raises(ValueError, match="at least M \\* N = 64 elements from expert to expert"):
        wgrad.wgrad_expert_ptrs(overlap)
    with pytest.raises(ValueError, match="aligned to 16 bytes in every expert"):
        wgrad.wgrad_expert_ptrs(memory[1:129].reshape(2, 8, 8))
    odd = np.lib.stride_tricks.as_strided(memory, (2, 8, 8), (260, 32, 4))
    with pytest.raises(ValueError, match="aligned to 16 bytes in every expert"):
        wgrad.wgrad_expert_ptrs(odd)
    with pytest.raises(ValueError, match="is int32; it must be bfloat16, float16 or float32"):
        wgrad.wgrad_expert_ptrs(np.zeros((2, 8, 8), np.int32))
    with pytest.raises(ValueError, match="current_stream is 7; it must be None"):
        wgrad.wgrad_expert_ptrs(np.zeros((2, 8, 8), np.float32), current_stream=7)


class OnlyDlpack:
    """A tensor of a framework that wgrad has never heard of."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **kwargs):
        return self._array.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def discrete(expert):
    numpy = frameworks.Numpy()
    case = drop_in.call(numpy, np.random.default_rng(2), "bf16", drop_in.GROUPS)
    operator = wgrad.GroupedGemmWgradSm100(
        **drop_in.samples(case["tensors"]),
        sample_wgrad_expert=expert,
        num_experts=np.int64(2),
        wgrad_shape=np.array([drop_in.M, drop_in.N]),
        wgrad_dtype="float32",
    )
    return operator.check_support()


def test_sample_expert_may_be_of_any_framework():
    assert discrete(np.zeros((drop_in.M, drop_in.N), np.float32))
    assert discrete(OnlyDlpack(np.zeros((drop_in.M, drop_in.N, 1), np.float32)))


def test_sample_experts_that_no_output_could_be_are_refused():
    memory = np.zeros(drop_in.M * drop_in.N + 1, np.float32)
    bad = {
        "aligned to 16 bytes": memory[1:].reshape(drop_in.M, drop_in.N),
        "contiguous": np.zeros((drop_in.N, drop_in.M), np.float32).T,
        "float32, as wgrad_dtype says": np.zeros((drop_in.M, drop_in.N), np.float16),
        r"\(M, N\) = \(384, 640\)": np.zeros((drop_in.M, 8), np.float32),
        "DLPack": "no tensor",
    }
    for text, expert in bad.items():
        with pytest.raises(ValueError, match="sample_wgrad_expert is .*" + text):
            discrete(expert)


def test_memory_that_nobody_may_write_is_refused():
    values = np.zeros((2, 8, 8), np.float32)
    values.flags.writeable = False
    with pytest.raises(ValueError, match="wgrad_tensor is read-only; it must be writable"):
        wgrad.wgrad_expert_ptrs(values)


@pytest.mark.torch
def test_torch_memory_given_away_and_tensors_of_autograd_are_refused():
    torch = pytest.importorskip("torch")
    freed = torch.zeros(3, 8, 8)
    freed.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="wgrad_tensor is null"):
        wgrad.wgrad_expert_ptrs(freed)
    weight = torch.zeros(3, 8, 8, requires_grad=True)
    with pytest.raises(ValueError, match="wgrad_tensor is a tensor that requires grad"):
        wgrad.wgrad_expert_ptrs(weight)
    with torch.no_grad():
        assert len(wgrad.wgrad_expert_ptrs(weight)) == 3


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (np.zeros((1, 1, 1, 8, 8), np.float32), "is 5-D; it must be 3-D"),
        (np.zeros((2, 8, 8), np.float64), "is float64; it must be bfloat16, float16 or float32"),
        (
            np.lib.stride_tricks.as_strided(
                np.zeros((2, 8, 8), np.float32), (5, 8, 8), (2**62, 32, 4), writeable=True
            ),
            "within 64-bit addresses",
        ),
    ],
)
def test_what_no_table_can_hold_is_refused(values, text):
    with pytest.raises(ValueError, match=text):
        wgrad.wgrad_expert_ptrs(values)
