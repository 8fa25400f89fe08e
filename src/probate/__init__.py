"""Probate settles what becomes of an object's dependents when the object dies."""

__version__ = "0.1.0"
