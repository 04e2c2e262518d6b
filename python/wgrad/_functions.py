"""What each function has of the table of parameters, and its options made of its arguments."""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

from . import _core, cache
from ._parameters import ORDERS, TABLE, Use
from ._refusals import refusal


class OptionsRefused(Exception):
    """Options that make no sense, and those that the rest of the call can be judged with."""

    def __init__(self, reasons: list[_core.Reason], rest: _core.Options) -> None:
        super().__init__(reasons)
        self.reasons = reasons
        self.rest = rest


class Function:
    """One function's parameters, by the core's names: a column of the table. `order`: as its
    signature has them, "*" being where keywords begin."""

    def __init__(self, column: str) -> None:
        self.order = tuple(ORDERS[column].split())
        self.uses: dict[str, Use] = {
            row.field: use for row in TABLE if (use := getattr(row, column)) is not None
        }
        self._options = tuple(
            (row.field, self.uses[row.field].name, row.check)
            for row in TABLE
            if row.check is not None and row.field in self.uses
        )
        self._kept = cache.options.setdefault(column, {})
        self._values = operator.itemgetter(*(name for _, name, _ in self._options))

    def options(
        self, given: dict[str, Any], judge: Callable[[_core.Options], object] | None = None
    ) -> _core.Options:
        """The Options among the function's arguments, checked once and remembered. `judge` reads the
        rest of the call, to refuse it together with them.

        Raises:
            ValueError: options that make no sense, and what judge() refuses.
        """
        try:
            return self._remembered(self._values(given))
        except OptionsRefused as refused:
            reasons = list(refused.reasons)
            try:
                rest = judge(refused.rest) if judge is not None else None
                if isinstance(rest, _core.Call):
                    rest.require_support()
            except (_core.ValueError, _core.RuntimeError) as error:
                reasons += [reason for reason in error.reasons if reason not in reasons]
            raise refusal(reasons) from None

    def _remembered(self, values: tuple[Any, ...]) -> _core.Options:
        try:
            kept = self._kept.get(values)
        except TypeError:  # a list instead of a tuple has no hash
            return self._build(values)
        # Equal is not enough: 1 == True, and a refusal must not depend on earlier calls.
        if kept is None or not _core.same_objects(kept[0], values):
            if not all(map(_is_constant, values)):
                return self._build(values)
            if len(self._kept) >= _MOST_REMEMBERED:
                self._kept.clear()
            kept = self._kept[values] = (values, self._build(values))
        return kept[1]

    def _build(self, values: tuple[Any, ...]) -> _core.Options:
        """Those that are refused keep the extension's defaults. Raises OptionsRefused."""
        checked: dict[str, Any] = {}
        reasons: list[_core.Reason] = []
        for (field, name, check), value in zip(self._options, values):
            try:
                checked[field] = check(value, name)
            except _core.ValueError as error:
                reasons += error.reasons
        options = _core.Options(**checked)
        if reasons:
            raise OptionsRefused(reasons, options)
        return options

    def renamed(self, given: dict[str, Any], to: Function) -> dict[str, Any]:
        """This function's arguments as those of another: what both have, by the other's names."""
        return {
            to.uses[field].name: given[use.name]
            for field, use in self.uses.items()
            if field in to.uses
        }


_MOST_REMEMBERED = 1024


def _is_constant(value: Any) -> bool:
    """Whether nobody can change `value` under us, as one can a tensor, whose hash stays the same."""
    if isinstance(value, tuple):
        return all(map(_is_constant, value))
    if value is None or isinstance(value, (int, str, enum.Enum, type)):
        return True
    return any(base.__name__ == "dtype" for base in type(value).__mro__)  # numpy's and torch's


NATURAL = Function("natural")
WRAPPER = Function("call")
OPERATOR = Function("sample")
