"""ListCache: a list is returned while its range is unchanged, and the cache stays within its size."""

from __future__ import annotations

from probate.server.objects.list_cache import CachedList, ListCache, ListKey
from probate.store.contract import Revision, UnchangedSince


def list_key(prefix: str) -> ListKey:
    return ListKey("", "v1", "Pod", prefix, 500)


def cached_list(size: int, revision: int = 5) -> CachedList:
    return CachedList(b"x" * size, Revision(revision), "", None)


def unchanged(since: int, now: int) -> UnchangedSince:
    return UnchangedSince(Revision(since), Revision(now))


def test_list_is_returned_while_its_range_is_unchanged() -> None:
    lists, kept = ListCache(), cached_list(10, revision=5)
    lists.put(list_key("a"), kept)
    assert lists.get(list_key("a"), unchanged(5, 5)) is kept
    assert lists.get(list_key("a"), unchanged(3, 9)) is kept


def test_list_is_not_returned_once_its_range_has_changed_or_is_unknown() -> None:
    lists = ListCache()
    lists.put(list_key("a"), cached_list(10, revision=5))
    assert lists.get(list_key("a"), unchanged(6, 9)) is None
    assert lists.get(list_key("a"), None) is None
    assert lists.get(list_key("b"), unchanged(3, 9)) is None


def test_list_newer_than_the_readers_revision_is_not_returned() -> None:
    lists = ListCache()
    lists.put(list_key("a"), cached_list(10, revision=5))
    assert lists.get(list_key("a"), unchanged(3, 4)) is None


def test_least_recently_used_list_is_evicted() -> None:
    lists = ListCache(10_000)
    for name in "abc":
        lists.put(list_key(name), cached_list(2_400))
    assert lists.get(list_key("a"), unchanged(1, 9)) is not None
    lists.put(list_key("d"), cached_list(2_400))
    assert [name for name in "abcd" if lists.get(list_key(name), unchanged(1, 9))] == ["a", "c", "d"]


def test_list_that_is_cached_again_counts_once() -> None:
    lists = ListCache(10_000)
    lists.put(list_key("a"), cached_list(2_400))
    for _ in range(20):
        lists.put(list_key("b"), cached_list(2_400))
    assert lists.get(list_key("a"), unchanged(1, 9)) is not None


def test_oversized_list_is_not_cached_and_evicts_its_predecessor() -> None:
    lists = ListCache(10_000)
    lists.put(list_key("a"), cached_list(100))
    lists.put(list_key("a"), cached_list(2_600))
    assert lists.get(list_key("a"), unchanged(1, 9)) is None


def test_parts_share_the_size_and_no_list() -> None:
    lists = ListCache(10_000)
    one, other = lists.new_part(), lists.new_part()
    one.put(list_key("a"), cached_list(2_400))
    assert one.get(list_key("a"), unchanged(1, 9)) is not None
    assert other.get(list_key("a"), unchanged(1, 9)) is lists.get(list_key("a"), unchanged(1, 9)) is None
    for name in "bcd":
        other.put(list_key(name), cached_list(2_400))
    assert one.get(list_key("a"), unchanged(1, 9)) is None
    assert other.get(list_key("b"), unchanged(1, 9)) is not None
