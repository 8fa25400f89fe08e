"""The cache of the newest entries."""

from __future__ import annotations

from probate.core.generational_cache import GenerationalCache


def test_newest_entries_are_cached_and_the_oldest_are_dropped() -> None:
    cache: GenerationalCache[int] = GenerationalCache(10)
    for n in range(100):
        cache[f"n{n}"] = n
        assert [cache.get(f"n{m}") for m in range(max(0, n - 9), n + 1)] == list(range(max(0, n - 9), n + 1))
    assert "n99" in cache
    assert "n79" not in cache
    assert cache.get("n79") is None


def test_pop_removes_older_values_of_the_key_too() -> None:
    cache: GenerationalCache[str] = GenerationalCache(2)
    cache["a"] = "old"
    cache["b"] = "b"
    cache["a"] = "new"
    assert cache.get("a") == "new"
    assert cache.pop("a") == "new"
    assert "a" not in cache
    assert cache.pop("a") is None
    assert cache.pop("b") == "b"
