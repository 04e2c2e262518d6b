"""The enumerations of a call."""

from wgrad import WGradInputOrder
from wgrad.operator import MoEWeightMode

__all__ = ["MoEWeightMode", "WGradInputOrder"]
