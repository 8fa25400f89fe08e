"""How long it is until a time comes, as all controllers count it."""

from probate.control.times import GRAIN, until

__all__ = ["GRAIN", "until"]
