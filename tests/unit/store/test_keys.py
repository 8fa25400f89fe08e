"""What may be a key, and how ranges lie in the order of keys."""

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
def test_any_two_or_more_segments_are_a_key(key: str) -> None:
    keys.check_key(key)


@pytest.mark.parametrize(
    "key", ["", "a", "a/", "/a", "a//b", "a/b/", "a/\x00", "a/\x1f", "a/\x7f", "a/\n", "a/b\n", "\n/a", "a/\ud83d"]
)
def test_bad_keys_are_refused(key: str) -> None:
    with pytest.raises(errors.BadKey):
        keys.check_key(key)


@pytest.mark.parametrize("prefix", ["", "/", "a", "a/b", "//", "a//", "/a/", "a/\x00/", "a/\n/", "a/b\n", "\ud83d/"])
def test_bad_prefixes_are_refused(prefix: str) -> None:
    with pytest.raises(errors.BadKey):
        keys.check_prefix(prefix)


@given(prefixes)
def test_any_segments_and_a_slash_are_a_prefix(prefix: str) -> None:
    keys.check_prefix(prefix)


@pytest.mark.parametrize("letter", ["x", "é", "\ufffd", "\U0001f600"])
def test_length_is_measured_in_bytes(letter: str) -> None:
    width = len(letter.encode())
    longest = "a/" + letter * ((keys.MAX_BYTES - 2) // width)
    longest += "-" * (keys.MAX_BYTES - len(longest.encode()))
    keys.check_key(longest)
    keys.check_prefix(longest[:-1] + "/" if longest[-1] in "x-" else longest[:-2] + "/")
    with pytest.raises(errors.BadKey, match="4,097 bytes of at most 4,096"):
        keys.check_key(longest + "x")


def test_message_of_a_long_bad_key_is_short_and_printable() -> None:
    with pytest.raises(errors.BadKey) as caught:
        keys.check_key("objects/\ud800" + "é" * 10_000)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


@given(paths, prefixes)
def test_range_from_prefix_to_its_end_holds_exactly_what_begins_with_it(key: str, prefix: str) -> None:
    assert (prefix <= key < keys.end_of(prefix)) == key.startswith(prefix)


@given(prefixes, paths)
def test_range_holds_whatever_is_put_below_it(prefix: str, rest: str) -> None:
    assert prefix <= prefix + rest < keys.end_of(prefix)


@given(paths, paths)
def test_order_of_text_is_the_order_of_bytes(one: str, other: str) -> None:
    assert (one < other) == (one.encode() < other.encode())


@given(paths, st.one_of(st.just(""), paths), prefixes)
def test_scan_starts_at_the_first_key_after_the_one_given(key: str, after: str, prefix: str) -> None:
    start = keys.start_of(prefix, after)
    assert (start <= key < keys.end_of(prefix)) == (key.startswith(prefix) and key > after)


@given(prefixes, paths, paths)
def test_scan_within_a_range_starts_after_the_key_given(prefix: str, one: str, other: str) -> None:
    assert (keys.start_of(prefix, prefix + one) <= prefix + other) == (other > one)


def test_prefixes_of_a_key_are_listed_widest_first() -> None:
    assert keys.prefixes_of("objects/pods/a/x") == ["objects/", "objects/pods/", "objects/pods/a/"]


@given(paths, prefixes)
def test_key_lies_in_exactly_its_prefixes(key: str, prefix: str) -> None:
    assert (prefix in keys.prefixes_of(key)) == key.startswith(prefix)


@pytest.mark.parametrize(
    ("key", "expected"), [("objects/a", True), ("objects/", True), ("owned/objects/a", False), ("objectsx/a", False)]
)
def test_objects_are_told_from_entries_by_their_first_segment(key: str, expected: bool) -> None:
    assert keys.is_object(key) is expected


@given(st.lists(st.text("ax/\n\x00é", min_size=1, max_size=6).map(lambda text: text + "/"), min_size=1, max_size=4))
def test_prefixes_are_good_together_if_each_is(prefixes: list[str]) -> None:
    def is_good(check: Callable[[], None]) -> bool:
        try:
            check()
        except errors.BadKey:
            return False
        return True

    assert is_good(lambda: keys.check_prefixes(prefixes)) == all(is_good(partial(keys.check_prefix, one)) for one in prefixes)


@given(st.lists(st.text("ab/\n\x00\x7fé", max_size=6), min_size=1, max_size=4))
def test_keys_are_good_together_if_each_is(many: list[str]) -> None:
    try:
        keys.check_keys(many)
    except errors.BadKey:
        assert not all(keys.is_sound(key) for key in many)
    else:
        assert all(keys.is_sound(key) for key in many)
