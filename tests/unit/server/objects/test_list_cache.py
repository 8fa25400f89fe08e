"""Lists that are kept: for as long as their range is calm, and within bounds."""

from __future__ import annotations

from probate.server.objects.list_cache import Listing, Listings, Place
from probate.store.contract import Calm, Revision


def place(prefix: str) -> Place:
    return Place("", "v1", "Pod", prefix, 500)


def listing(size: int, revision: int = 5) -> Listing:
    return Listing(b"x" * size, Revision(revision), "", None)


def calm(since: int, now: int) -> Calm:
    return Calm(Revision(since), Revision(now))


def test_list_is_found_while_its_range_is_calm() -> None:
    lists, kept = Listings(), listing(10, revision=5)
    lists.keep(place("a"), kept)
    assert lists.find(place("a"), calm(5, 5)) is kept
    assert lists.find(place("a"), calm(3, 9)) is kept


def test_list_is_not_found_once_its_range_has_changed_or_nothing_is_known_of_it() -> None:
    lists = Listings()
    lists.keep(place("a"), listing(10, revision=5))
    assert lists.find(place("a"), calm(6, 9)) is None
    assert lists.find(place("a"), None) is None
    assert lists.find(place("b"), calm(3, 9)) is None


def test_list_of_a_later_revision_than_the_readers_is_not_shown_to_it() -> None:
    lists = Listings()
    lists.keep(place("a"), listing(10, revision=5))
    assert lists.find(place("a"), calm(3, 4)) is None


def test_what_was_not_asked_for_longest_makes_room() -> None:
    lists = Listings(10_000)
    for name in "abc":
        lists.keep(place(name), listing(2_400))
    assert lists.find(place("a"), calm(1, 9)) is not None
    lists.keep(place("d"), listing(2_400))
    assert [name for name in "abcd" if lists.find(place(name), calm(1, 9))] == ["a", "c", "d"]


def test_list_that_is_kept_again_takes_its_room_once() -> None:
    lists = Listings(10_000)
    lists.keep(place("a"), listing(2_400))
    for _ in range(20):
        lists.keep(place("b"), listing(2_400))
    assert lists.find(place("a"), calm(1, 9)) is not None


def test_very_long_list_is_not_kept_and_neither_is_what_it_replaces() -> None:
    lists = Listings(10_000)
    lists.keep(place("a"), listing(100))
    lists.keep(place("a"), listing(2_600))
    assert lists.find(place("a"), calm(1, 9)) is None
