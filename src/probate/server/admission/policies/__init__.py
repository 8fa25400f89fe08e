"""Validating and mutating admission policies: which apply to a write, their variables, and how their results take effect."""
