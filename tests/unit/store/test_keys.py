"""The syntax of keys, and ranges in the order of keys."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.api import tenants
from probate.core import errors
from probate.store import keys

segments = st.text(
    st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="/") | st.sampled_from(".-0!~\u0080\ufffd\U0001f600"),
    min_size=1,
    max_size=4,
)
paths = st.lists(segments, min_size=2, max_size=4).map("/".join)
prefixes = st.lists(segments, min_size=1, max_size=3).map(lambda parts: "/".join(parts) + "/")
partial_prefixes = st.builds(
    "objects/{}/{}{}-".format, segments, st.sampled_from(["", "-/"]), st.sampled_from(["111111", "a-b--c"])
)


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
    assert not keys.is_partial(prefix)


@given(partial_prefixes)
def test_id_and_dash_in_the_place_of_the_namespace_or_of_a_cluster_scoped_name_are_a_prefix(prefix: str) -> None:
    keys.check_prefix(prefix)
    assert keys.is_partial(prefix)


@pytest.mark.parametrize(
    "prefix",
    [
        *("111111-", "/111111-", "objects/111111-", "objects/-/111111-/x", "objects//111111-", "objects/pods//111111-"),
        *("owned/u/111111-", "owned/u/-/111111-", "Objects/pods/111111-", "tenant/111111/objects/pods/111111-"),
        *("objects/pods/a/111111-", "objects/pods/--/111111-", "objects/pods/-/-/111111-", "objects/pods/111111-/222222-"),
        *("objects/pods/111111", "objects/pods/11111-", "objects/pods/1111111-", "objects/pods/111111-a", "objects/pods/111111--"),
        *("objects/pods/-11111-", "objects/pods/11111--", "objects/pods/11111A-", "objects/pods/11111.-", "objects/pods/11111_-"),
        *("objects/pods/\u0661\u0661\u0661\u0661\u0661\u0661-", "objects/pods/-", "objects/pods/-/-", "objects/pods/111111-\n"),
        *("objects/\x00/111111-", "objects/po\nds/111111-", "objects/\ud800/-/111111-", f"objects/{'x' * keys.MAX_BYTES}/111111-"),
    ],
)
def test_no_other_prefix_ends_within_a_segment(prefix: str) -> None:
    with pytest.raises(errors.InvalidKey):
        keys.check_prefix(prefix)
    with pytest.raises(errors.InvalidKey):
        keys.check_prefixes(["objects/pods/111111-", prefix])


@given(st.text("ab09-A.\u0661", min_size=5, max_size=7))
def test_ids_in_prefixes_are_those_of_tenants(text: str) -> None:
    if tenants.is_valid_id(text):
        keys.check_prefix(f"objects/pods/{text}-")
    else:
        with pytest.raises(errors.InvalidKey):
            keys.check_prefix(f"objects/pods/{text}-")


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


@pytest.mark.parametrize(
    ("prefix", "end"),
    [("objects/", "objects0"), ("objects/pods/111111-", "objects/pods/111111."), ("objects/a/-/a-b--c-", "objects/a/-/a-b--c.")],
)
def test_range_ends_at_the_prefix_with_the_next_character(prefix: str, end: str) -> None:
    assert keys.range_end(prefix) == end == prefix[:-1] + chr(ord(prefix[-1]) + 1)


ids = st.sampled_from(["111111", "a-b--c", "111112", "11111", "1111110", "-", "x"])
names = st.builds("{}{}{}".format, ids, st.sampled_from(["-", "", ".", "--", "/"]), st.sampled_from(["", "0", "x/y", "\U0001f600"]))
likely_keys = st.builds("objects/{}/{}{}".format, segments, st.sampled_from(["", "-/", "x/", "-/-/"]), names).filter(keys.is_valid)


@given(likely_keys | paths, partial_prefixes)
def test_partial_range_contains_exactly_the_keys_that_begin_with_it(key: str, prefix: str) -> None:
    rest = key.partition("/")[2].partition("/")[2]
    for candidate in (key, f"{prefix.partition('/')[0]}/{prefix.split('/')[1]}/{rest or 'x'}"):
        is_inside = candidate.startswith(prefix)
        assert (prefix <= candidate < keys.range_end(prefix)) == is_inside
        assert (keys.partial_prefix_of(candidate) == prefix) == is_inside


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("objects/pods/111111-web/p", "objects/pods/111111-"),
        ("objects/pods/111111-/p", "objects/pods/111111-"),
        ("objects/pods/111111-web", "objects/pods/111111-"),
        ("objects/nodes/-/111111-n", "objects/nodes/-/111111-"),
        ("objects/nodes/-/a-b--c-n/x", "objects/nodes/-/a-b--c-"),
    ],
)
def test_partial_prefix_of_a_key_is_cut_from_it(key: str, prefix: str) -> None:
    assert keys.partial_prefix_of(key) == prefix


@pytest.mark.parametrize(
    "key",
    [
        *(
            "objects/pods/111111/p",
            "objects/pods/1111110-x/p",
            "objects/pods/11111-x/p",
            "objects/pods/x/111111-p",
            "objects/pods/-/x",
        ),
        *(
            "objects/nodes/-/111111",
            "objects/nodes/-/1111110-x",
            "objects/111111-x",
            "objects/111111-x/y",
            "owned/u/111111-a/x",
            "a/b",
        ),
    ],
)
def test_key_without_an_id_in_its_place_is_in_no_partial_range(key: str) -> None:
    with pytest.raises(errors.InvalidKey):
        keys.check_prefix(keys.partial_prefix_of(key).rstrip("/"))


@given(prefixes, paths)
def test_range_contains_every_key_below_it(prefix: str, rest: str) -> None:
    assert prefix <= prefix + rest < keys.range_end(prefix)


@given(paths, paths)
def test_order_of_text_is_the_order_of_bytes(first: str, second: str) -> None:
    assert (first < second) == (first.encode() < second.encode())


@given(likely_keys | paths, st.just("") | likely_keys | paths, prefixes | partial_prefixes)
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
    ("key", "prefix", "child"),
    [
        ("objects/pods/a/x", "objects/", "objects/pods/"),
        ("objects/pods/111111-a/x", "objects/pods/111111-", "objects/pods/111111-a/"),
        ("objects/pods/111111-a", "objects/pods/111111-", None),
        ("objects/nodes/-/111111-a/x", "objects/nodes/-/111111-", "objects/nodes/-/111111-a/"),
    ],
)
def test_child_prefix_ends_with_the_next_segment(key: str, prefix: str, child: str | None) -> None:
    assert keys.child_prefix(key, prefix) == child


@pytest.mark.parametrize(
    ("key", "expected"), [("objects/a", True), ("objects/", True), ("owned/objects/a", False), ("objectsx/a", False)]
)
def test_first_segment_distinguishes_objects_from_index_entries(key: str, expected: bool) -> None:
    assert keys.is_object(key) is expected


@given(
    st.lists(
        st.text("ax/\n\x00é", min_size=1, max_size=6).map(lambda text: text + "/") | partial_prefixes | likely_keys,
        min_size=1,
        max_size=4,
    )
)
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
