"""TupleDict: a dict that unpacks like a tuple."""

from __future__ import annotations

import pytest

from wgrad import TupleDict


def test_reads_by_name_and_position():
    d = TupleDict(first=1, second=2)
    assert d["first"] == d[0] == 1 and d["second"] == d[1] == 2
    a, b = d
    assert (a, b) == (1, 2) and list(d) == [1, 2]


def test_everything_else_is_a_dict():
    d = TupleDict(first=1, second=2)
    assert "first" in d and 1 not in d and len(d) == 2
    assert list(d.keys()) == ["first", "second"] and list(d.values()) == [1, 2]
    assert list(d.items()) == [("first", 1), ("second", 2)]
    assert d == {"first": 1, "second": 2} and dict(**d) == {"first": 1, "second": 2}
    assert d.get("third") is None and repr(d) == "{'first': 1, 'second': 2}"
    with pytest.raises(TypeError):
        hash(d)
    with pytest.raises(AttributeError):
        d.first


@pytest.mark.parametrize("index", [2, -1])
def test_positions_outside(index):
    with pytest.raises(IndexError, match=f"index {index} out of range for TupleDict with 2 items"):
        TupleDict(first=1, second=2)[index]


def test_unknown_name():
    with pytest.raises(KeyError):
        TupleDict(first=1)["second"]


def test_a_key_added_later_has_no_position():
    d = TupleDict(first=1)
    d["second"] = 2
    assert len(d) == 2 and list(d) == [1] and d["second"] == 2
    with pytest.raises(IndexError):
        d[1]


def test_a_key_taken_away_leaves_no_position():
    d = TupleDict(first=1, second=2)
    del d["first"]
    assert list(d) == [2] and d[0] == 2 and len(d) == 1


@pytest.mark.torch
def test_is_a_torch_pytree():
    import torch.utils._pytree as pytree

    import wgrad.torch_frontend

    leaves, spec = pytree.tree_flatten(TupleDict(first=1, second=[2, 3]))
    assert leaves == [1, 2, 3]
    doubled = pytree.tree_map(lambda v: v * 2, TupleDict(first=1, second=[2, 3]))
    assert isinstance(doubled, TupleDict) and list(doubled) == [2, [4, 6]]
    assert pytree.tree_unflatten(leaves, spec) == TupleDict(first=1, second=[2, 3])
