"""Every mutant still changes something: its text stands once in its file, its name once in its list."""

import collections
import importlib
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/emu/mutants"))
LISTS = {
    "sm90": importlib.import_module("mutants").MUTANTS,
    "sm90_scaled": importlib.import_module("mutants").SCALED,
    "sm100": importlib.import_module("sm100_mutants").SM100,
    "sm100_scaled": importlib.import_module("sm100_scaled_mutants").SM100_SCALED,
}


@pytest.mark.parametrize("family", LISTS)
def test_each_mutants_text_stands_once(family):
    texts = {file: (ROOT / "device/wgrad" / file).read_text() for file in {mutant[1] for mutant in LISTS[family]}}
    wrong = [f"{name}: {texts[file].count(old)} times in {file}"
             for name, file, old, *_ in LISTS[family] if texts[file].count(old) != 1]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("family", LISTS)
def test_names_tell_mutants_apart(family):
    counts = collections.Counter(mutant[0] for mutant in LISTS[family])
    assert [name for name, count in counts.items() if count > 1] == []


def test_each_mutant_changes_the_text():
    assert [mutant[0] for mutants in LISTS.values() for mutant in mutants if mutant[2] == mutant[3]] == []
