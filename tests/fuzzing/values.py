"""Unusual values: everything that JSON can express, and values that parsers often handle wrongly."""

from __future__ import annotations

from random import Random
from typing import Any

STRINGS = (
    *(
        "",
        " ",
        "a",
        "A",
        "a" * 300,
        "a.b/c",
        "-",
        ".",
        "..",
        "/",
        "~1",
        "~0~",
        "\u0000",
        "\ud7ff",
        "é",
        "日本",
        "😀",
        "a\nb",
        "%s",
        "{}",
    ),
    *("0", "-1", "1e3", "0x1f", "1Gi", "100m", "1E400", "NaN", "null", "true", "2026-01-01T00:00:00Z", "2026-13-45", "IntOrString"),
    *(
        "default",
        "kube-system",
        "v1",
        "apps/v1",
        "ConfigMap",
        "*",
        "!",
        "in ()",
        "a=b,c",
        "f:a",
        'k:{"name":"a"}',
        "$patch",
        "__class__",
    ),
)
NUMBERS = (0, 1, -1, 2, 65_535, 65_536, 2**31, -(2**31) - 1, 2**53 + 1, 2**63, 2**64, 10**30, 0.1, -0.0, 1e308, 1e-308)
KEYS = (
    *("a", "b", "name", "metadata", "spec", "status", "data", "key", "value", "items", "labels", "annotations", "finalizers"),
    *("ownerReferences", "managedFields", "uid", "resourceVersion", "containers", "ports", "template", "$patch", "$retainKeys"),
    *(
        "$setElementOrder/containers",
        "$deleteFromPrimitiveList/finalizers",
        "",
        "a.b",
        "a/b",
        "x-kubernetes-a",
        "📎",
        "size",
        "parts",
    ),
)


def scalar(chance: Random) -> Any:
    kind = chance.randrange(4)
    return (chance.choice(STRINGS), chance.choice(NUMBERS), chance.choice((True, False, None)), chance.choice(STRINGS))[kind]


def value(chance: Random, depth: int = 3) -> Any:
    """Anything, nested at most so deep."""
    roll = chance.random()
    if depth == 0 or roll < 0.5:
        return scalar(chance)
    if roll < 0.7:
        return [value(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {chance.choice(KEYS): value(chance, depth - 1) for _ in range(chance.randrange(5))}


def deep(chance: Random) -> Any:
    """Something nested deeply, and not always too deeply."""
    found: Any = scalar(chance)
    for _ in range(chance.choice((20, 90, 99, 100, 101, 150, 400))):
        found = {"a": found} if chance.random() < 0.5 else [found]
    return found


def wide(chance: Random) -> Any:
    """Something with many parts."""
    many = chance.choice((500, 5_000))
    return {f"k{number}": scalar(chance) for number in range(many)} if chance.random() < 0.5 else [scalar(chance)] * many


def odd(chance: Random) -> Any:
    """Mostly small, now and then deep or wide."""
    roll = chance.random()
    return deep(chance) if roll < 0.03 else wide(chance) if roll < 0.05 else value(chance)


def spoiled(chance: Random, found: Any, times: int = 1) -> Any:
    """A copy of a good document in which so many places say something else."""
    for _ in range(times):
        found = _spoiled(chance, found)
    return found


def _spoiled(chance: Random, found: Any) -> Any:
    if not found or chance.random() < 0.12:
        return odd(chance)
    if isinstance(found, dict):
        key = chance.choice(list(found))
        if (roll := chance.random()) < 0.1:
            return {name: one for name, one in found.items() if name != key}
        if roll < 0.25:
            return {**found, chance.choice(KEYS): odd(chance)}
        return {**found, key: _spoiled(chance, found[key])}
    if isinstance(found, list):
        at = chance.randrange(len(found))
        if chance.random() < 0.2:
            return [*found, found[at]]
        return [*found[:at], _spoiled(chance, found[at]), *found[at + 1 :]]
    return scalar(chance)
