"""Semantic versions: `semver('1.2.3').isGreaterThan(semver('1.2.3-rc.1'))`."""

from __future__ import annotations

import re
from typing import Any

from probate.lib.cel.cost_meter import Meter
from probate.lib.cel.errors import CelError
from probate.lib.cel.functions import Library, traversal
from probate.lib.cel.numbers import MAX_UINT

LIBRARY = Library()
function = LIBRARY.function

MAX_TEXT = 250
_NUMBER = r"(0|[1-9][0-9]*)"
_LABELS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_STRICT = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_LABELS}))?(?:\+({_LABELS}))?", re.ASCII)
_LOOSE = re.compile(rf"[vV]?([0-9]+)(?:\.([0-9]+))?(?:\.([0-9]+))?(?:-({_LABELS}))?(?:\+({_LABELS}))?", re.ASCII)


class Semver:
    """A semantic version. Build metadata after `+` is ignored."""

    __slots__ = ("numbers", "order", "text")
    cel_type = "kubernetes.Semver"

    def __init__(self, numbers: tuple[int, int, int], labels: str, text: str) -> None:
        self.numbers = numbers
        self.order = (numbers, not labels, [_label(one) for one in labels.split(".")] if labels else [])
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and other.order == self.order

    def __hash__(self) -> int:
        return hash(self.numbers)

    def cel_less(self, other: Semver) -> bool:
        return self.order < other.order

    def cel_shown(self) -> str:
        return self.text


def _label(text: str) -> tuple[bool, int, str]:
    """Orders numeric identifiers before alphanumeric ones."""
    return (False, int(text), "") if text.isdigit() else (True, 0, text)


def parse(text: str, *, is_loose: bool = False) -> Semver | None:
    """Parses a semantic version; None if the text is invalid."""
    match = (_LOOSE if is_loose else _STRICT).fullmatch(text.strip() if is_loose else text) if len(text) <= MAX_TEXT else None
    if match is None:
        return None
    labels = match[4] or ""
    if any(one.isdigit() and one.startswith("0") and one != "0" for one in labels.split(".")):
        return None
    numbers = (int(match[1]), int(match[2] or 0), int(match[3] or 0))
    return Semver(numbers, labels, text) if max(numbers) <= MAX_UINT else None


@function("semver(string) -> Semver", cost=traversal)
def _semver(_: Meter, text: str) -> Semver:
    return _or_error(parse(text), text)


@function("semver(string, bool) -> Semver", cost=traversal)
def _normalized(_: Meter, text: str, is_loose: bool) -> Semver:
    return _or_error(parse(text, is_loose=is_loose), text)


def _or_error(found: Semver | None, text: str) -> Semver:
    if found is None:
        raise CelError(f"invalid semantic version: {text[:60]}")
    return found


@function("isSemver(string) -> bool", cost=traversal)
def _is_semver(_: Meter, text: str) -> bool:
    return parse(text) is not None


@function("isSemver(string, bool) -> bool", cost=traversal)
def _is_normalizable(_: Meter, text: str, is_loose: bool) -> bool:
    return parse(text, is_loose=is_loose) is not None


@function("Semver::major() -> int")
def _major(_: Meter, one: Semver) -> int:
    return min(one.numbers[0], (1 << 63) - 1)


@function("Semver::minor() -> int")
def _minor(_: Meter, one: Semver) -> int:
    return min(one.numbers[1], (1 << 63) - 1)


@function("Semver::patch() -> int")
def _patch(_: Meter, one: Semver) -> int:
    return min(one.numbers[2], (1 << 63) - 1)


@function("Semver::isGreaterThan(Semver) -> bool")
def _is_greater(_: Meter, one: Semver, other: Semver) -> bool:
    return other.cel_less(one)


@function("Semver::isLessThan(Semver) -> bool")
def _is_less(_: Meter, one: Semver, other: Semver) -> bool:
    return one.cel_less(other)


@function("Semver::compareTo(Semver) -> int")
def _compare(_: Meter, one: Semver, other: Any) -> int:
    return int(other.cel_less(one)) - int(one.cel_less(other))
