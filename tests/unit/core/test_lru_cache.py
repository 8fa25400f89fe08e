"""The cache of the values that were used last."""

from __future__ import annotations

from probate.core.lru_cache import LruCache


def made(cache: LruCache[str], owner: str, name: str, source: int = 1, *, value: str) -> str:
    return cache.get(owner, name, source, make=lambda: value)


def test_value_is_made_once_for_each_source() -> None:
    cache = LruCache[str](4)
    assert made(cache, "a", "n", 1, value="x") == "x"
    assert made(cache, "a", "n", 1, value="y") == "x"
    assert made(cache, "a", "n", 2, value="y") == "y"
    assert made(cache, "a", "n", 1, value="z") == "z"
    assert len(cache) == 1


def test_values_that_were_not_used_for_longest_are_dropped() -> None:
    cache = LruCache[str](2)
    for name in ("a", "b", "a", "c"):
        made(cache, "owner", name, 1, value=name)
    assert made(cache, "owner", "a", 1, value="new") == "a"
    assert made(cache, "owner", "b", 1, value="new") == "new"


def test_values_of_an_owner_can_be_dropped() -> None:
    cache = LruCache[str](4)
    for owner in ("one", "two"):
        made(cache, owner, "n", 1, value=owner)
    cache.drop("one")
    assert (len(cache), made(cache, "two", "n", 1, value="new"), made(cache, "one", "n", 1, value="new")) == (1, "two", "new")
