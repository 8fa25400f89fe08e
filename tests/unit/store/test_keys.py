"""The syntax of keys, and ranges in the order of keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.core import errors
from probate.store import keys

segments = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/") | st.sampled_from(".-0!~\u0080\ufffd\U0001f600"),
    min_size=1,
    max_size=4,
)
paths = st.lists(segments, min_size=2, max_size=4).map("/".join)
prefixes = st.lists(segments, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + "/")


@given(paths)
def test_two_or_more_segments_are_a_key(key: str) -> None:
    keys.check_key(key)


@pytest.mark.parametrize(
    "key", ["", "a", "a/", "/a", "a//b", "a/b/", "a/\x00", "a/\x1f", "a/\x7f", "a/\n", "a/b\n", "\n/a", "a/\ud83d"]
)
def test_bad_keys_are_rejected(key: str) -> None:
    with pytest.raises(errors.InvalidKey):
        keys.check_key(key)


@pytest.mark.parametrize("prefix", ["", "/", "a", "a/b", "//", "a//", "/a/", "a/\x00/", "a/\n/", "a/b\n", "\ud83d/"])
def test_bad_prefixes_are_rejected(prefix: str) -> None:
    with pytest.raises(errors.InvalidKey):
        keys.check_prefix(prefix)


@given(prefixes)
def test_segments_with_a_final_slash_are_a_prefix(prefix: str) -> None:
    keys.check_prefix(prefix)


@pytest.mark.parametrize("letter", ["x", "é", "\ufffd", "\U0001f600"])
def test_length_is_measured_in_bytes(letter: str) -> None:
    width = len(letter.encode())
    longest = "a/" + letter * ((keys.MAX_BYTES - 2) // width)
    longest += "-" * (keys.MAX_BYTES - len(longest.encode()))
    keys.check_key(longest)
    keys.check_prefix(longest[:-1] + "/" if longest[-1] in "x-" else longest[:-2] + "/")
    with pytest.raises(errors.InvalidKey, match="4,097 bytes of at most 4,096"):
        keys.check_key(longest + "x")


def test_message_of_a_long_bad_key_is_short_and_printable() -> None:
    with pytest.raises(errors.InvalidKey) as caught:
        keys.check_key("objects/\ud800" + "é" * 10_000)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


@given(paths, prefixes)
def test_range_from_prefix_to_its_end_contains_exactly_the_keys_that_begin_with_it(key: str, prefix: str) -> None:
    assert (prefix <= key < keys.range_end(prefix)) == key.startswith(prefix)


@given(prefixes, paths)
def test_range_contains_every_key_below_it(prefix: str, rest: str) -> None:
    assert prefix <= prefix + rest < keys.range_end(prefix)


@given(paths, paths)
def test_order_of_text_is_the_order_of_bytes(first: str, second: str) -> None:
    assert (first < second) == (first.encode() < second.encode())


@given(paths, st.one_of(st.just(""), paths), prefixes)
def test_scan_starts_at_the_first_key_after_the_given_one(key: str, after: str, prefix: str) -> None:
    start = keys.scan_start(prefix, after)
    assert (start <= key < keys.range_end(prefix)) == (key.startswith(prefix) and key > after)


@given(prefixes, paths, paths)
def test_scan_within_a_range_starts_after_the_given_key(prefix: str, first: str, second: str) -> None:
    assert (keys.scan_start(prefix, prefix + first) <= prefix + second) == (second > first)


def test_prefixes_of_a_key_are_listed_widest_first() -> None:
    assert keys.prefixes_of("objects/pods/a/x") == ["objects/", "objects/pods/", "objects/pods/a/"]


@given(paths, prefixes)
def test_key_is_in_exactly_the_ranges_of_its_prefixes(key: str, prefix: str) -> None:
    assert (prefix in keys.prefixes_of(key)) == key.startswith(prefix)


@pytest.mark.parametrize(
    ("key", "expected"), [("objects/a", True), ("objects/", True), ("owned/objects/a", False), ("objectsx/a", False)]
)
def test_first_segment_distinguishes_objects_from_index_entries(key: str, expected: bool) -> None:
    assert keys.is_object(key) is expected


@given(st.lists(st.text("ax/\n\x00é", min_size=1, max_size=6).map(lambda text: text + "/"), min_size=1, max_size=4))
def test_prefixes_are_valid_together_if_each_is(prefixes: list[str]) -> None:
    def is_valid(check: Callable[[], None]) -> bool:
        try:
            check()
        except errors.InvalidKey:
            return False
        return True

    assert is_valid(lambda: keys.check_prefixes(prefixes)) == all(is_valid(partial(keys.check_prefix, one)) for one in prefixes)


@given(st.lists(st.text("ab/\n\x00\x7fé", max_size=6), min_size=1, max_size=4))
def test_keys_are_valid_together_if_each_is(candidates: list[str]) -> None:
    try:
        keys.check_keys(candidates)
    except errors.InvalidKey:
        assert not all(keys.is_valid(key) for key in candidates)
    else:
        assert all(keys.is_valid(key) for key in candidates)
