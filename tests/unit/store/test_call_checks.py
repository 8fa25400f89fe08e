"""What every engine asks of a call before it touches anything."""

from __future__ import annotations

import pytest

from probate.core import errors
from probate.store import call_checks, contract
from probate.store.contract import NOTHING, Absent, EmptyRange, Guard, Limits, Revision, Txn, Unchanged

LIMITS = Limits(key_bytes=4096, value_bytes=10, entries=3, guards=2, page=5)
KEY = "objects/k/x"
ONE = Revision(1)


@pytest.mark.parametrize(
    "txn",
    [
        contract.create(KEY, b""),
        contract.create(KEY, b"x" * 10, enter=["a/1", "a/2", "a/3"], guards=[Absent(KEY), EmptyRange("a/")]),
        contract.update(KEY, b"", revision=ONE, enter=["a/1"], leave=["a/2", "b/1"]),
        contract.delete(KEY, revision=ONE, leave=["a/1", "a/2", "a/3"], guards=[Unchanged("a/1", ONE)]),
    ],
)
def test_good_transaction_passes(txn: Txn) -> None:
    call_checks.check_txn(txn, LIMITS)


@pytest.mark.parametrize(
    ("txn", "error", "says"),
    [
        (contract.create("objects", b""), errors.BadKey, "segments"),
        (contract.create("owned/u/x", b""), errors.BadKey, "index key"),
        (contract.delete(KEY, revision=NOTHING), errors.BadRequest, "must name the revision"),
        (Txn(KEY, None, ONE, enter=("a/1",)), errors.BadRequest, "cannot enter"),
        (contract.create(KEY, b"x" * 11), errors.TooLarge, "11 bytes; the store takes at most 10"),
        (contract.create(KEY, b"", enter=["a/1", "a/2", "a/3", "a/4"]), errors.TooLarge, "4 index entries"),
        (contract.update(KEY, b"", revision=ONE, enter=["a/1", "a/2"], leave=["a/3", "a/4"]), errors.TooLarge, "4 index entries"),
        (contract.create(KEY, b"", enter=["a"]), errors.BadKey, "segments"),
        (contract.update(KEY, b"", revision=ONE, leave=["a/"]), errors.BadKey, "segments"),
        (contract.create(KEY, b"", enter=["objects/k/y"]), errors.BadKey, "one object only"),
        (contract.update(KEY, b"", revision=ONE, leave=[KEY]), errors.BadKey, "one object only"),
        (contract.create(KEY, b"", enter=["a/1", "a/1"]), errors.BadRequest, "twice"),
        (contract.update(KEY, b"", revision=ONE, enter=["a/1"], leave=["a/1"]), errors.BadRequest, "twice"),
        (contract.update(KEY, b"", revision=ONE, leave=["a/1", "a/1"]), errors.BadRequest, "twice"),
        (contract.create(KEY, b"", guards=[Absent("a/1")] * 3), errors.TooLarge, "3 guards"),
    ],
)
def test_bad_transaction_is_refused_with_the_reason(txn: Txn, error: type[errors.ApiError], says: str) -> None:
    with pytest.raises(error, match=says) as caught:
        call_checks.check_txn(txn, LIMITS)
    assert caught.type is error


@pytest.mark.parametrize("guard", [Absent("a"), Unchanged("a/", ONE), EmptyRange("a"), EmptyRange("a/b"), Absent("a/\x00")])
def test_bad_key_in_a_guard_is_refused(guard: Guard) -> None:
    with pytest.raises(errors.BadKey):
        call_checks.check_txn(contract.create(KEY, b"", guards=[guard]), LIMITS)


@pytest.mark.parametrize(("after", "limit"), [("", 1), ("", 5), ("objects/k/x", 1), ("zzz/z", 1)])
def test_good_scan_passes(after: str, limit: int) -> None:
    call_checks.check_scan("objects/k/", after, limit, LIMITS)


@pytest.mark.parametrize(
    ("prefix", "after", "limit", "error"),
    [
        ("objects", "", 1, errors.BadKey),
        ("objects/", "objects/", 1, errors.BadKey),
        ("objects/", "", 0, errors.BadRequest),
        ("objects/", "", 6, errors.TooLarge),
    ],
)
def test_bad_scan_is_refused(prefix: str, after: str, limit: int, error: type[errors.ApiError]) -> None:
    with pytest.raises(error) as caught:
        call_checks.check_scan(prefix, after, limit, LIMITS)
    assert caught.type is error


def test_past_is_for_objects_only() -> None:
    call_checks.check_at("objects/", ONE)
    call_checks.check_at("owned/", None)
    with pytest.raises(errors.BadRequest):
        call_checks.check_at("owned/", ONE)


def test_watch_is_for_ranges_of_objects_only() -> None:
    call_checks.check_watch("objects/k/")
    with pytest.raises(errors.BadRequest):
        call_checks.check_watch("owned/u/")
    with pytest.raises(errors.BadKey):
        call_checks.check_watch("objects/k")


def test_reading_many_is_for_a_page_of_good_keys() -> None:
    call_checks.check_read_many([KEY] * 5, LIMITS)
    with pytest.raises(errors.TooLarge):
        call_checks.check_read_many([KEY] * 6, LIMITS)
    with pytest.raises(errors.BadKey):
        call_checks.check_read_many([KEY, "objects"], LIMITS)
