"""The result type, where callers of the reference import it from."""

from wgrad import TupleDict

__all__ = ["TupleDict"]
