"""Operators and values can be copied and pickled (F121); a Quantized remembers what it is (F120, F141)."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import wgrad

ENDS = np.array([32, 64], np.int32)
X = np.ones((64, 16), np.float16)
COPIES = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("life", ["made", "checked", "compiled"])
@pytest.mark.parametrize("discrete", [False, True])
def test_f121_a_copied_operator_compiles_anew(way, life, discrete):
    out = np.zeros((2, 16, 16), np.float32)
    shape = dict(num_experts=2, wgrad_shape=(16, 16), wgrad_dtype="float32")
    operator = wgrad.GroupedGemmWgrad(X.T, X, None, None, ENDS, **(shape if discrete else {"sample_wgrad": out}))
    if life != "made":
        assert operator.check_support()
    if life == "compiled":
        operator.compile()
    twin = COPIES[way](operator)
    if life != "compiled":
        with pytest.raises(RuntimeError, match="not compiled"):
            twin.execute(X.T, X, None, None, ENDS, out)
        twin.compile()
    twin.execute(X.T, X, None, None, ENDS, out)
    assert (out == 32).all()
    if discrete:
        out[:] = 0
        twin.execute(X.T, X, None, None, ENDS, wgrad_ptrs=wgrad.wgrad_expert_ptrs(out))
        assert (out == 32).all()
    with pytest.raises(ValueError, match="as compiled"):
        twin.execute(X.T[:8], X, None, None, ENDS, out[:, :8])


def test_f121_a_module_that_holds_an_operator_can_be_saved(tmp_path):
    torch = pytest.importorskip("torch")
    x = torch.ones(64, 16, dtype=torch.bfloat16)
    ends, out = torch.tensor(ENDS), torch.zeros(2, 16, 16)
    module = torch.nn.Linear(2, 2)
    module.operator = wgrad.GroupedGemmWgrad(x.T, x, None, None, ends, out)
    module.operator.compile()
    torch.save(module, tmp_path / "module.pt")
    loaded = torch.load(tmp_path / "module.pt", weights_only=False)
    for twin in (copy.deepcopy(module), loaded):
        out.zero_()
        twin.operator.execute(x.T, x, None, None, ends, out)
        assert (out == 32).all()


VALUES = {
    "a problem": wgrad.Problem(experts=2, m=16, n=24, tokens=64, wgrad_dtype="float32", accumulate=True),
    "one with scales": wgrad.Problem(
        experts=2, m=16, n=24, tokens=64, a_dtype="float8_e4m3fn", scale_dtype="float8_e8m0fnu",
        global_scale=True, cluster_shape_mn=(2, 1), wgrad_row_pitch=32,
    ),
    "a device": wgrad.DeviceSpec(kind="cuda", name="by hand", arch=90, sm_count=132, sm_limit=8),
    "a yes": wgrad.support(experts=2, m=16, n=24, tokens=64, device=wgrad.devices()[0]),
    "a no": wgrad.support(experts=0, m=16, n=43, tokens=64, device=wgrad.devices()[0]),
    "an explanation": wgrad.explain(experts=2, m=16, n=24, tokens=64, device=wgrad.devices()[0]),
}


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("value", VALUES)
def test_f121_values_can_be_copied(way, value):
    twin = COPIES[way](VALUES[value])
    assert type(twin) is type(VALUES[value])
    assert repr(twin) == repr(VALUES[value]) and bool(twin) == bool(VALUES[value])
    if value in ("a problem", "one with scales", "a device"):
        assert twin == VALUES[value]


@pytest.mark.parametrize("format", ["mxfp8", "mxfp4", "nvfp4"])
def test_f121_quantized_operands_can_be_compared(framework, format):
    x = framework.tensor(np.arange(64 * 16).reshape(64, 16) % 7 - 3, "float32")
    ends = framework.tensor(ENDS, "int32")
    q = wgrad.quantize(x, ends, format)
    for name, way in COPIES.items():
        if name != "pickle" or framework.name == "numpy":  # torch pickles float8 by torch.save() alone
            assert way(q) == q
    assert q != wgrad.quantize(x, ends, format, role="x")
    assert q != wgrad.quantize(x, framework.tensor(np.array([30, 64]), "int32"), format)
    assert q != wgrad.quantize(framework.tensor(np.ones((64, 16)), "float32"), ends, format)
    assert q != "q"


@pytest.mark.parametrize("compact", [False, True])
@pytest.mark.parametrize("format", ["mxfp8", "mxfp4", "nvfp4"])
def test_f120_operands_quantised_for_other_offsets_are_refused(framework, format, compact):
    x = framework.tensor(np.ones((64, 16)), "float32")
    if framework.name == "cuda":  # offsets are there too, and are not compared: that would wait
        with pytest.raises(ValueError, match="offsets"):
            wgrad.quantize(x, ENDS, format, compact=compact)
        return
    q = wgrad.quantize(x, ENDS, format, compact=compact)
    ends = framework.tensor(np.array([32, 64]), "int32")
    assert (framework.to_numpy(wgrad.grouped_wgrad(q, q, ends)) == 32).all()
    text = r"offsets is \[10, 64\]; it must be those that {} was quantised for: \[32, 64\]"
    for other in (framework.tensor(np.array([10, 64]), "int32"), np.array([10, 64], np.int32)):
        with pytest.raises(ValueError, match=text.format("x")):
            wgrad.grouped_wgrad(q, q, other)
    dy = wgrad.quantize(x, np.array([10, 64], np.int32), format, compact=compact)
    with pytest.raises(ValueError, match=r"offsets is \[32, 64\]; .* that dy was quantised for"):
        wgrad.grouped_wgrad(q, dy, ends)
    ends[0] = 10  # what it remembers is a copy
    with pytest.raises(ValueError, match="that x was quantised for"):
        wgrad.grouped_wgrad(q, q, ends)


def test_f120_an_operand_quantised_as_one_is_not_the_other():
    q = {role: wgrad.quantize(X, ENDS, role=role) for role in (None, "x", "dy")}
    for x, dy in ((None, None), ("x", "dy"), (None, "dy"), ("x", None)):
        assert (wgrad.grouped_wgrad(q[x], q[dy], ENDS) == 32).all()
    with pytest.raises(ValueError, match="x is a Quantized of dy; it must be one of x, or of no role"):
        wgrad.grouped_wgrad(q["dy"], q["dy"], ENDS)
    with pytest.raises(ValueError, match="dy is a Quantized of x"):
        wgrad.grouped_wgrad(q["x"], q["x"], ENDS)
    with pytest.raises(ValueError, match="role is 'a'; it must be None, 'x' or 'dy'"):
        wgrad.quantize(X, ENDS, role="a")


@pytest.mark.parametrize("format", ["mxfp8", "mxfp4", "nvfp4"])
def test_f141_what_a_quantized_knows_reaches_the_call(format):
    """Scale factors as bytes, as older torch has them."""
    q = wgrad.quantize(X, ENDS, format)
    q = dataclasses.replace(q, scales=q.scales.view(np.uint8))
    assert (wgrad.grouped_wgrad(q, q, ENDS) == 32).all()
    assert wgrad.support(q, q, ENDS)
    other = 48 - q.sf_vec_size
    with pytest.raises(ValueError, match=f"sf_vec_size is {other}; it must be None or {q.sf_vec_size}"):
        wgrad.grouped_wgrad(q, q, ENDS, sf_vec_size=other)
