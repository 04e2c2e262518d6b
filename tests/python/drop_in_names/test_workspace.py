"""descriptor_workspace: how many bytes, under which names, and that fewer are refused."""

import numpy as np
import pytest
import wgrad

import drop_in
import frameworks

size_of = wgrad.get_grouped_gemm_wgrad_workspace_size_sm100


def operator_of(framework, mode):
    case = drop_in.call(framework, np.random.default_rng(9), "bf16", drop_in.GROUPS)
    out = framework.full((2, drop_in.M, drop_in.N), np.nan, "bfloat16")
    kind = {"sample_wgrad": out}
    if mode == "discrete":
        shape = (drop_in.M, drop_in.N)
        kind = {"num_experts": 2, "wgrad_shape": shape, "wgrad_dtype": "bfloat16"}
    operator = wgrad.GroupedGemmWgradSm100(**drop_in.samples(case["tensors"]), **kind)
    return operator, case, out


@pytest.mark.parametrize("mode", ["dense", "discrete"])
def test_operators_need_what_the_query_says(framework, mode):
    operator, _, _ = operator_of(framework, mode)
    assert operator.scratch_workspace_bytes() == size_of(2, output_mode=mode)
    operator.compile()
    assert operator.scratch_workspace_bytes() == size_of(2, output_mode=mode)


@pytest.mark.parametrize("names", [["workspace"], ["descriptor_workspace"], None])
def test_either_name_is_taken_and_both_for_one_tensor(framework, names):
    operator, case, out = operator_of(framework, "dense")
    operator.compile()
    workspace = framework.full((operator.scratch_workspace_bytes(),), 255, "uint8")
    given = dict.fromkeys(names or ["workspace", "descriptor_workspace"], workspace)
    operator.execute(**case["tensors"], wgrad_tensor=out, **given)
    np.testing.assert_array_equal(framework.to_numpy(out), case["expected"])


def test_two_tensors_are_refused(framework):
    operator, case, out = operator_of(framework, "dense")
    operator.compile()
    two = [framework.full((1024,), 0, "uint8") for _ in range(2)]
    with pytest.raises(ValueError, match="workspace is another tensor; it must be descriptor_work"):
        operator.execute(
            **case["tensors"], wgrad_tensor=out, workspace=two[0], descriptor_workspace=two[1]
        )


@pytest.mark.parametrize("given", [0, 1, 1023])
def test_fewer_bytes_are_refused_by_every_function(framework, given):
    operator, case, out = operator_of(framework, "dense")
    operator.compile()
    short = framework.full((given,), 0, "uint8")
    text = f"workspace is {given} byte(s?); it must be at least 1024 bytes"
    tensors = case["tensors"]
    with pytest.raises(ValueError, match="descriptor_" + text):
        operator.execute(**tensors, wgrad_tensor=out, workspace=short)
    with pytest.raises(ValueError, match="descriptor_" + text):
        wgrad.grouped_gemm_wgrad_wrapper_sm100(**tensors, descriptor_workspace=short)
    x, dy = tensors["a_tensor"].T, tensors["b_tensor"]
    with pytest.raises(ValueError, match=text):
        wgrad.grouped_wgrad(x, dy, tensors["offsets_tensor"], workspace=short)
    assert np.isnan(framework.to_numpy(out)).all()


def test_a_table_of_addresses_needs_more(framework):
    operator, case, out = operator_of(framework, "discrete")
    operator.compile()
    table = wgrad.wgrad_expert_ptrs(out)
    for given, fits in ((1024, False), (1280, True)):
        workspace = framework.full((given,), 0, "uint8")
        run = lambda: operator.execute(
            **case["tensors"], wgrad_ptrs=table, workspace=workspace
        )
        if fits:
            run()
        else:
            with pytest.raises(ValueError, match="at least 1280 bytes, as .* says of output_mode='discrete'"):
                run()
    np.testing.assert_array_equal(framework.to_numpy(out), case["expected"])


@pytest.mark.parametrize("kind", ["read-only", "five axes", "given away"])
def test_memory_that_no_kernel_could_use_is_refused(kind):
    numpy = frameworks.Numpy()
    workspace, text = np.zeros(1024, np.uint8), "read-only; it must be writable"
    if kind == "read-only":
        workspace.flags.writeable = False
    elif kind == "five axes":
        workspace, text = workspace.reshape(1, 1, 1, 1, -1), "5-D; it must be 1-D"
    else:
        torch = pytest.importorskip("torch")
        numpy, text = frameworks.Torch(), r"null \(a Tensor without memory: fake, functional or freed\); it must be an address"
        workspace = torch.zeros(1024, dtype=torch.uint8)
        workspace.untyped_storage().resize_(0)
    operator, case, out = operator_of(numpy, "dense")
    operator.compile()
    with pytest.raises(ValueError, match="descriptor_workspace is " + text):
        operator.execute(**case["tensors"], wgrad_tensor=out, workspace=workspace)
