"""Argument checks: what every engine verifies before it acts on a call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.core import errors
from probate.store import argument_checks, contract
from probate.store.contract import NO_REVISION, Absent, EmptyRange, Guard, Limits, Revision, Txn, Unchanged

LIMITS = Limits(key_bytes=4096, value_bytes=10, entries=3, guards=2, page_size=5)
KEY = "objects/k/x"
ONE = Revision(1)


@pytest.mark.parametrize(
    "txn",
    [
        contract.create(KEY, b""),
        contract.create(KEY, b"x" * 10, add_entries=["a/1", "a/2", "a/3"], guards=[Absent(KEY), EmptyRange("a/")]),
        contract.update(KEY, b"", revision=ONE, add_entries=["a/1"], remove_entries=["a/2", "b/1"]),
        contract.delete(KEY, revision=ONE, remove_entries=["a/1", "a/2", "a/3"], guards=[Unchanged("a/1", ONE)]),
    ],
)
def test_valid_transaction_passes(txn: Txn) -> None:
    argument_checks.check_txn(txn, LIMITS)


@pytest.mark.parametrize(
    ("txn", "error", "message"),
    [
        (contract.create("objects", b""), errors.InvalidKey, "segments"),
        (contract.create("owned/u/x", b""), errors.InvalidKey, "index key"),
        (contract.delete(KEY, revision=NO_REVISION), errors.BadRequest, "must name the revision"),
        (Txn(KEY, None, ONE, add_entries=("a/1",)), errors.BadRequest, "cannot add index entries"),
        (contract.create(KEY, b"x" * 11), errors.TooLarge, "11 bytes; the store takes at most 10"),
        (contract.create(KEY, b"", add_entries=["a/1", "a/2", "a/3", "a/4"]), errors.TooLarge, "4 index entries"),
        (
            contract.update(KEY, b"", revision=ONE, add_entries=["a/1", "a/2"], remove_entries=["a/3", "a/4"]),
            errors.TooLarge,
            "4 index entries",
        ),
        (contract.create(KEY, b"", add_entries=["a"]), errors.InvalidKey, "segments"),
        (contract.update(KEY, b"", revision=ONE, remove_entries=["a/"]), errors.InvalidKey, "segments"),
        (contract.create(KEY, b"", add_entries=["objects/k/y"]), errors.InvalidKey, "one object only"),
        (contract.update(KEY, b"", revision=ONE, remove_entries=[KEY]), errors.InvalidKey, "one object only"),
        (contract.create(KEY, b"", add_entries=["a/1", "a/1"]), errors.BadRequest, "twice"),
        (contract.update(KEY, b"", revision=ONE, add_entries=["a/1"], remove_entries=["a/1"]), errors.BadRequest, "twice"),
        (contract.update(KEY, b"", revision=ONE, remove_entries=["a/1", "a/1"]), errors.BadRequest, "twice"),
        (contract.create(KEY, b"", guards=[Absent("a/1")] * 3), errors.TooLarge, "3 guards"),
    ],
)
def test_invalid_transaction_is_rejected_with_the_reason(txn: Txn, error: type[errors.ApiError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        argument_checks.check_txn(txn, LIMITS)
    assert caught.type is error


@pytest.mark.parametrize(
    "guard",
    [
        *(Absent("a"), Unchanged("a/", ONE), EmptyRange("a"), EmptyRange("a/b"), Absent("a/\x00"), EmptyRange("owned/u/111111-")),
        *(EmptyRange("objects/k/111111"), EmptyRange("objects/k/a/111111-")),
    ],
)
def test_bad_key_in_a_guard_is_rejected(guard: Guard) -> None:
    with pytest.raises(errors.InvalidKey):
        argument_checks.check_txn(contract.create(KEY, b"", guards=[guard]), LIMITS)


@pytest.mark.parametrize(("after", "limit"), [("", 1), ("", 5), ("objects/k/x", 1), ("zzz/z", 1)])
def test_valid_scan_passes(after: str, limit: int) -> None:
    argument_checks.check_scan("objects/k/", after, limit, limits=LIMITS)


@pytest.mark.parametrize(
    ("prefix", "after", "limit", "error"),
    [
        ("objects", "", 1, errors.InvalidKey),
        ("objects/", "objects/", 1, errors.InvalidKey),
        ("objects/", "", 0, errors.BadRequest),
        ("objects/", "", 6, errors.TooLarge),
    ],
)
def test_invalid_scan_is_rejected(prefix: str, after: str, limit: int, error: type[errors.ApiError]) -> None:
    with pytest.raises(error) as caught:
        argument_checks.check_scan(prefix, after, limit, limits=LIMITS)
    assert caught.type is error


def test_only_objects_can_be_read_at_a_past_revision() -> None:
    argument_checks.check_at("objects/", ONE)
    argument_checks.check_at("owned/", None)
    with pytest.raises(errors.BadRequest):
        argument_checks.check_at("owned/", ONE)


def test_only_ranges_of_objects_can_be_watched() -> None:
    argument_checks.check_watch("objects/k/")
    with pytest.raises(errors.BadRequest):
        argument_checks.check_watch("owned/u/")
    argument_checks.check_watch("objects/k/111111-")
    for prefix in ("objects/k", "objects/k/111111", "owned/k/111111-"):
        with pytest.raises(errors.InvalidKey):
            argument_checks.check_watch(prefix)


def test_read_many_accepts_a_page_of_valid_keys() -> None:
    argument_checks.check_read_many([KEY] * 5, LIMITS)
    with pytest.raises(errors.TooLarge):
        argument_checks.check_read_many([KEY] * 6, LIMITS)
    with pytest.raises(errors.InvalidKey):
        argument_checks.check_read_many([KEY, "objects"], LIMITS)


_entries = st.lists(st.sampled_from(["a/1", "a/2", "a", "objects/k/y"]), max_size=3).map(tuple)
_txns = st.builds(
    Txn,
    key=st.sampled_from([KEY, "objects/k/y", "objects", "owned/u/x"]),
    value=st.sampled_from([None, b"", b"x" * 11]),
    expected_revision=st.sampled_from([NO_REVISION, ONE]),
    add_entries=_entries,
    remove_entries=_entries,
    guards=st.lists(
        st.sampled_from([Absent("a/1"), EmptyRange("a/"), EmptyRange("objects/k/-/111111-"), EmptyRange("a"), Absent("a")]),
        max_size=3,
    ).map(tuple),
)


def _is_accepted(check: Callable[[], None]) -> bool:
    try:
        check()
    except errors.ApiError:
        return False
    return True


@given(st.lists(_txns, min_size=1, max_size=3))
def test_transactions_are_accepted_together_exactly_if_each_is(txns: list[Txn]) -> None:
    together = _is_accepted(lambda: argument_checks.check_txns(txns, LIMITS))
    assert together == all(_is_accepted(partial(argument_checks.check_txn, txn, LIMITS)) for txn in txns)
