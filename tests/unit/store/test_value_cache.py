"""The value cache keeps recently read values, within its limits."""

from __future__ import annotations

from probate.store.contract import Record, Revision, delete
from probate.store.sqlite import value_cache
from probate.store.sqlite.value_cache import ValueCache


def records(first: int, number: int, value: bytes = b"v") -> list[Record]:
    return [Record(f"objects/a/{at}", value, Revision(at + 1)) for at in range(first, first + number)]


def cached(cache: ValueCache, of: list[Record]) -> int:
    return sum(len(cache.values([delete(one.key, revision=one.revision)])) for one in of)


def test_value_is_returned_for_its_revision_only() -> None:
    cache = ValueCache()
    cache.add([None, *records(0, 1)])
    assert cache.values([delete("objects/a/0", revision=Revision(1))]) == [b"v"]
    assert cache.values([delete("objects/a/0", revision=Revision(2))]) == []
    assert cache.values([delete("objects/a/1", revision=Revision(2))]) == []


def test_values_are_returned_up_to_one_that_is_not_cached() -> None:
    cache = ValueCache()
    cache.add(records(0, 3))
    asked = [delete(f"objects/a/{at}", revision=Revision(revision)) for at, revision in enumerate((1, 9, 3))]
    assert cache.values(asked) == [b"v"]


def test_large_values_are_not_cached() -> None:
    cache = ValueCache()
    small, large = records(0, 1, b"v" * value_cache.MAX_VALUE_BYTES), records(1, 1, b"v" * (value_cache.MAX_VALUE_BYTES + 1))
    cache.add(small + large)
    assert (cached(cache, small), cached(cache, large)) == (1, 0)


def test_number_of_cached_values_is_limited() -> None:
    cache = ValueCache()
    read = [records(10_000 * round_, 10_000) for round_ in range(4)]
    for some in read:
        cache.add(some)
    assert sum(cached(cache, some) for some in read) <= 4 * value_cache.MAX_RECORDS
