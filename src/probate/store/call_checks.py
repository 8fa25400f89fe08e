"""What every engine asks of a call before it touches anything, so that a bad one gets the same clear error from all."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from probate.core import errors
from probate.store import contract, keys


def check_txn(txn: contract.Txn, limits: contract.Limits) -> None:
    """`BadKey`, `TooLarge` or `BadRequest` unless the transaction is one that the engine can take."""
    value = txn.value
    keys.check_key(txn.key)
    if not keys.is_object(txn.key):
        raise _no_object(txn)
    if type(value) is not bytes or len(value) > limits.value_bytes:
        _check_change(txn, limits)
    if txn.enter or txn.leave:
        entries = [*txn.enter, *txn.leave]
        _check_number(txn, entries, limits)
        _check_entries(entries)
    if txn.guards:
        if len(txn.guards) > limits.guards:
            raise _too_many_guards(txn, limits)
        for guard in txn.guards:
            _check_guard(guard)


def check_txns(txns: Sequence[contract.Txn], limits: contract.Limits) -> None:
    """The same of several. What they have in common, or can be asked of all in one go, is."""
    wanted = [txn.key for txn in txns]
    keys.check_keys(wanted)
    if not all(map(keys.is_object, wanted)):
        raise next(_no_object(txn) for txn in txns if not keys.is_object(txn.key))
    entries: list[str] = []
    guards: dict[contract.Guard, None] = {}
    guarded: tuple[contract.Guard, ...] = ()
    for txn in txns:
        if txn.value is not None or txn.enter or not txn.expects:  # most are deletes with nothing wrong
            _check_change(txn, limits)
            entries += txn.enter
        entries += txn.leave
        if txn.guards is not guarded:
            guarded = txn.guards
            if len(guarded) > limits.guards:
                raise _too_many_guards(txn, limits)
            guards.update(dict.fromkeys(guarded))
    if len(entries) > limits.entries or len(set(entries)) != len(entries):
        for txn in txns:
            _check_number(txn, [*txn.enter, *txn.leave], limits)
    if entries:
        _check_entries(entries)
    ranges = [guard.prefix for guard in guards if isinstance(guard, contract.EmptyRange)]
    if ranges:
        keys.check_prefixes(ranges)
    keys.check_keys([guard.key for guard in guards if not isinstance(guard, contract.EmptyRange)])


def _no_object(txn: contract.Txn) -> errors.BadKey:
    return errors.BadKey(f"a transaction changes an object, but {txn.key!r} is an index key: put it into enter or leave")


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
    elif txn.expects == contract.NOTHING or txn.enter:
        raise errors.BadRequest(f"the delete of {txn.key!r} must name the revision it deletes and cannot enter index keys")


def _check_number(txn: contract.Txn, entries: list[str], limits: contract.Limits) -> None:
    if len(entries) > limits.entries:
        raise errors.TooLarge(
            f"the change of {txn.key!r} touches {len(entries):,} index entries; the store takes {limits.entries:,} at most. "
            "An object with fewer owner references needs fewer"
        )
    if len(entries) > 1 and len(set(entries)) != len(entries):
        raise errors.BadRequest(f"the change of {txn.key!r} names an index key twice; name each once, in enter or in leave")


def _too_many_guards(txn: contract.Txn, limits: contract.Limits) -> errors.TooLarge:
    return errors.TooLarge(f"the change of {txn.key!r} has {len(txn.guards):,} guards; the store takes at most {limits.guards:,}")


def _check_entries(entries: list[str]) -> None:
    if len(entries) == 1:
        keys.check_key(entries[0])
    else:
        keys.check_keys(entries)
    if any(map(keys.is_object, entries)):
        entry = next(filter(keys.is_object, entries))
        raise errors.BadKey(f"{entry!r} is an object's key, not an index key: a transaction changes one object only")


@functools.lru_cache(maxsize=1_000)
def _check_guard(guard: contract.Guard) -> None:
    """(Most guards come again and again: of a namespace that is open, of an owner.)"""
    if isinstance(guard, contract.EmptyRange):
        keys.check_prefix(guard.prefix)
    else:
        keys.check_key(guard.key)


def check_scan(prefix: str, after: str, limit: int, limits: contract.Limits) -> None:
    """`BadKey`, `TooLarge` or `BadRequest` unless this is a scan that the engine can do."""
    keys.check_prefix(prefix)
    if after:
        keys.check_key(after)
    if limit < 1:
        raise errors.BadRequest(f"a scan's limit must be at least 1, not {limit}")
    if limit > limits.page:
        raise errors.TooLarge(f"a scan gives at most {limits.page:,} records at once, not {limit:,}: ask for pages")


def check_scan_many(prefixes: Sequence[str], limit: int, limits: contract.Limits) -> None:
    """`BadKey`, `TooLarge` or `BadRequest` unless these are scans that the engine can do."""
    if len(prefixes) > limits.page:
        raise errors.TooLarge(f"{len(prefixes):,} ranges are asked for at once; the store takes at most {limits.page:,}")
    if prefixes:
        keys.check_prefixes(prefixes)
        check_scan(prefixes[0], "", limit, limits)


def check_at(prefix: str, at: contract.Revision | None) -> None:
    """`BadRequest` if the past of index keys is asked for: they have none."""
    if at is not None and not keys.is_object(prefix):
        raise errors.BadRequest(f"{prefix!r} is an index, which has no history: read it without a revision")


def check_watch(prefix: str) -> None:
    """`BadRequest` if index keys are to be watched: they cannot be."""
    keys.check_prefix(prefix)
    if not keys.is_object(prefix):
        raise errors.BadRequest(f"{prefix!r} is an index, which cannot be watched: watch the objects and scan the index")


def check_read_many(wanted: Sequence[str], limits: contract.Limits) -> None:
    """`BadKey` or `TooLarge` unless these keys can be read together."""
    if len(wanted) > limits.page:
        raise errors.TooLarge(f"at most {limits.page:,} keys are read at once, not {len(wanted):,}: ask in parts")
    keys.check_keys(wanted)
