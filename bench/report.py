"""Prints the results of the API benchmarks, with the required ratio of each, and marks those that miss it."""

from __future__ import annotations


def say(what: str, found: str, reached: str) -> None:
    print(f"{what:24} {found}   {reached}", flush=True)


def verdict(ratio: float, bar: float) -> str:
    """Prints a result that should be at least the bar."""
    return f"bar {bar:.2f} {'reached' if ratio >= bar else 'MISSED'}"


def below(value: float, bar: float, unit: str) -> str:
    """Prints a result that should be less than the bar."""
    return f"bar < {bar:g} {unit} {'reached' if value < bar else 'MISSED'}"
