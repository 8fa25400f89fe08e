"""Conditions, as all controllers keep them."""

from probate.control.conditions import Conditions, find, is_true, made, put, without

__all__ = ["Conditions", "find", "is_true", "made", "put", "without"]
