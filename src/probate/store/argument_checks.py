"""Checks the arguments of store calls before an engine acts on them, so that all engines report the same errors."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from probate.core import errors
from probate.store import contract, keys


def check_txn(txn: contract.Txn, limits: contract.Limits) -> None:
    """Raises `InvalidKey`, `TooLarge` or `BadRequest` unless the engine can accept the transaction."""
    value = txn.value
    keys.check_key(txn.key)
    if not keys.is_object(txn.key):
        raise _not_an_object(txn)
    if type(value) is not bytes or len(value) > limits.value_bytes:
        _check_change(txn, limits)
    if txn.add_entries or txn.remove_entries:
        entries = [*txn.add_entries, *txn.remove_entries]
        _check_number(txn, entries, limits)
        _check_entries(entries)
    if txn.guards:
        if len(txn.guards) > limits.guards:
            raise _too_many_guards(txn, limits)
        for guard in txn.guards:
            _check_guard(guard)


def check_txns(txns: Sequence[contract.Txn], limits: contract.Limits) -> None:
    """Raises like `check_txn` of each transaction.

    Fast path: checks all keys together, and guards that the transactions share once. Equals `check_txn` of each transaction,
    property-tested in tests/unit/store/test_argument_checks.py.
    """
    object_keys = [txn.key for txn in txns]
    keys.check_keys(object_keys)
    if not all(map(keys.is_object, object_keys)):
        raise next(_not_an_object(txn) for txn in txns if not keys.is_object(txn.key))
    entries: list[str] = []
    guards: dict[contract.Guard, None] = {}
    previous_guards: tuple[contract.Guard, ...] = ()
    for txn in txns:
        if txn.value is not None or txn.add_entries or not txn.expected_revision:  # most are valid deletes
            _check_change(txn, limits)
            entries += txn.add_entries
        entries += txn.remove_entries
        if txn.guards is not previous_guards:
            previous_guards = txn.guards
            if len(previous_guards) > limits.guards:
                raise _too_many_guards(txn, limits)
            guards.update(dict.fromkeys(previous_guards))
    if len(entries) > limits.entries or len(set(entries)) != len(entries):
        for txn in txns:
            _check_number(txn, [*txn.add_entries, *txn.remove_entries], limits)
    if entries:
        _check_entries(entries)
    ranges = [guard.prefix for guard in guards if isinstance(guard, contract.EmptyRange)]
    if ranges:
        keys.check_prefixes(ranges)
    keys.check_keys([guard.key for guard in guards if not isinstance(guard, contract.EmptyRange)])


def _not_an_object(txn: contract.Txn) -> errors.InvalidKey:
    return errors.InvalidKey(
        f"a transaction changes an object, but {txn.key!r} is an index key: put it into add_entries or remove_entries"
    )


def _check_change(txn: contract.Txn, limits: contract.Limits) -> None:
    value = txn.value
    if value is not None:
        if not isinstance(value, bytes):
            raise errors.BadRequest(f"the value of {txn.key!r} must be bytes, not {type(value).__name__}")
        if len(value) > limits.value_bytes:
            raise errors.TooLarge(
                f"the object {txn.key!r} has {len(value):,} bytes; the store takes at most {limits.value_bytes:,}. "
                "Make it smaller or split it"
            )
    elif txn.expected_revision == contract.NO_REVISION or txn.add_entries:
        raise errors.BadRequest(f"the delete of {txn.key!r} must name the revision it deletes and cannot add index entries")


def _check_number(txn: contract.Txn, entries: list[str], limits: contract.Limits) -> None:
    if len(entries) > limits.entries:
        raise errors.TooLarge(
            f"the change of {txn.key!r} touches {len(entries):,} index entries; the store takes {limits.entries:,} at most. "
            "An object with fewer owner references needs fewer"
        )
    if len(entries) > 1 and len(set(entries)) != len(entries):
        raise errors.BadRequest(
            f"the change of {txn.key!r} names an index key twice; name each once, in add_entries or in remove_entries"
        )


def _too_many_guards(txn: contract.Txn, limits: contract.Limits) -> errors.TooLarge:
    return errors.TooLarge(f"the change of {txn.key!r} has {len(txn.guards):,} guards; the store takes at most {limits.guards:,}")


def _check_entries(entries: list[str]) -> None:
    if len(entries) == 1:
        keys.check_key(entries[0])
    else:
        keys.check_keys(entries)
    if any(map(keys.is_object, entries)):
        entry = next(filter(keys.is_object, entries))
        raise errors.InvalidKey(f"{entry!r} is an object's key, not an index key: a transaction changes one object only")


@functools.lru_cache(maxsize=1_000)
def _check_guard(guard: contract.Guard) -> None:
    """Checks a guard. Cached, because most guards repeat: that of an active namespace, of an owner."""
    if isinstance(guard, contract.EmptyRange):
        keys.check_prefix(guard.prefix)
    else:
        keys.check_key(guard.key)


def check_scan(prefix: str, after: str, limit: int, *, limits: contract.Limits) -> None:
    """Raises `InvalidKey`, `TooLarge` or `BadRequest` unless the engine can accept the scan."""
    keys.check_prefix(prefix)
    if after:
        keys.check_key(after)
    if limit < 1:
        raise errors.BadRequest(f"a scan's limit must be at least 1, not {limit}")
    if limit > limits.page_size:
        raise errors.TooLarge(f"a scan returns at most {limits.page_size:,} records at once, not {limit:,}: ask for pages")


def check_scan_many(prefixes: Sequence[str], limit: int, limits: contract.Limits) -> None:
    """Raises `InvalidKey`, `TooLarge` or `BadRequest` unless the engine can accept the scans."""
    if len(prefixes) > limits.page_size:
        raise errors.TooLarge(f"{len(prefixes):,} ranges are requested at once; the store takes at most {limits.page_size:,}")
    if prefixes:
        keys.check_prefixes(prefixes)
        check_scan(prefixes[0], "", limit, limits=limits)


def check_at(prefix: str, at: contract.Revision | None) -> None:
    """Raises `BadRequest` for a read of index entries at a past revision: they have no history."""
    if at is not None and not keys.is_object(prefix):
        raise errors.BadRequest(f"{prefix!r} is an index, which has no history: read it without a revision")


def check_watch(prefix: str) -> None:
    """Raises `BadRequest` for a watch of index entries: they cannot be watched."""
    keys.check_prefix(prefix)
    if not keys.is_object(prefix):
        raise errors.BadRequest(f"{prefix!r} is an index, which cannot be watched: watch the objects and scan the index")


def check_read_many(requested_keys: Sequence[str], limits: contract.Limits) -> None:
    """Raises `InvalidKey` or `TooLarge` unless the keys can be read together."""
    if len(requested_keys) > limits.page_size:
        raise errors.TooLarge(f"at most {limits.page_size:,} keys are read at once, not {len(requested_keys):,}: ask in parts")
    keys.check_keys(requested_keys)
