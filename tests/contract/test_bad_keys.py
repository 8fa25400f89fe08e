"""Invalid keys and prefixes are rejected in every call, before anything is changed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from probate.core import errors
from probate.store import contract, keys
from probate.store.contract import NO_REVISION, Absent, EmptyRange, Revision, Store, Unchanged
from support import store_operations as steps

BAD_KEYS = [
    "",
    "/",
    "objects",
    "objects/",
    "/objects/x",
    "objects//x",
    "objects/x/",
    "objects/x//y",
    "objects/a\x00b",
    "objects/x\x00",
    "objects/a\nb",
    "objects/x\n",
    "objects/a\x1fb",
    "objects/a\x7fb",
    "objects/\ud800",
    "objects/\udfff",
    "objects/" + "x" * keys.MAX_BYTES,
    "objects/" + "é" * (keys.MAX_BYTES // 2),
]
BAD_PREFIXES = [
    *("", "/", "//", "objects", "objects/x", "objects//", "/objects/", "objects/\x00/", "objects/\ud800/", "objects/x\n/"),
    *("objects/111111-", "objects/x/111111", "objects/x/11111-", "objects/x/1111111-", "objects/x/-11111-", "objects/x/11111--"),
    *("objects/x/11111A-", "objects/x/a/111111-", "objects/x/-/-/111111-", "objects/\n/111111-", "objects//111111-", "111111-"),
    *("owned/x/111111-", "owned/x/-/111111-"),
]

WITH_KEY: dict[str, Callable[[Store, str], Awaitable[object]]] = {
    "read": lambda store, key: store.read(key),
    "read at": lambda store, key: store.read(key, at=Revision(1)),
    "read_many": lambda store, key: store.read_many(["objects/good/x", key]),
    "create": lambda store, key: store.commit(contract.create(key, b"")),
    "update": lambda store, key: store.commit(contract.update(key, b"", revision=Revision(1))),
    "delete": lambda store, key: store.commit(contract.delete(key, revision=Revision(1))),
    "commit_many": lambda store, key: store.commit_many([contract.create("objects/good/x", b""), contract.create(key, b"")]),
    "enter": lambda store, key: store.commit(contract.create("objects/good/x", b"", add_entries=["owned/u/good", key])),
    "leave": lambda store, key: store.commit(contract.update("objects/good/x", b"", revision=Revision(1), remove_entries=[key])),
    "Absent": lambda store, key: store.commit(contract.create("objects/good/x", b"", guards=[Absent(key)])),
    "Unchanged": lambda store, key: store.commit(contract.create("objects/good/x", b"", guards=[Unchanged(key, Revision(1))])),
}
WITH_PREFIX: dict[str, Callable[[Store, str], Awaitable[object]]] = {
    "scan": lambda store, prefix: store.scan(prefix, limit=1),
    "count": lambda store, prefix: store.count(prefix),
    "scan_many": lambda store, prefix: store.scan_many(["objects/good/111111-", prefix], limit=1),
    "nonempty_ranges": lambda store, prefix: store.nonempty_ranges(["objects/good/", prefix]),
    "child_prefixes": lambda store, prefix: store.child_prefixes(prefix),
    "watch": lambda store, prefix: steps.collect_events(store, prefix, after=Revision(1), last=NO_REVISION),
    "EmptyRange": lambda store, prefix: store.commit(contract.create("objects/good/x", b"", guards=[EmptyRange(prefix)])),
}


@pytest.mark.parametrize("call", WITH_KEY)
async def test_bad_key_is_rejected_and_nothing_changed(store: Store, call: str) -> None:
    before = await store.revision()
    for key in BAD_KEYS:
        with pytest.raises(errors.InvalidKey):
            await WITH_KEY[call](store, key)
    assert await store.revision() == before
    assert [await store.count(prefix) for prefix in ("objects/", "owned/")] == [0, 0]


@pytest.mark.parametrize("call", WITH_PREFIX)
async def test_bad_prefix_is_rejected_and_nothing_changed(store: Store, call: str) -> None:
    before = await store.revision()
    for prefix in [*BAD_PREFIXES, "objects/" + "x" * keys.MAX_BYTES + "/"]:
        with pytest.raises(errors.InvalidKey):
            await WITH_PREFIX[call](store, prefix)
    assert await store.revision() == before
    assert await store.count("objects/") == 0


async def test_scan_after_a_bad_key_is_rejected(store: Store) -> None:
    for after in [bad for bad in BAD_KEYS if bad]:
        with pytest.raises(errors.InvalidKey):
            await store.scan("objects/", after=after, limit=1)
        with pytest.raises(errors.InvalidKey):
            await store.count("objects/", after=after)


@pytest.mark.parametrize("key", ["owned/u/x", "pods/x", "object/x", "Objects/x", "objectss/x"])
async def test_object_with_an_index_key_is_rejected(store: Store, key: str) -> None:
    for txn in (
        contract.create(key, b""),
        contract.update(key, b"", revision=Revision(1)),
        contract.delete(key, revision=Revision(1)),
    ):
        with pytest.raises(errors.InvalidKey):
            await store.commit(txn)
    assert await store.read(key) is None


async def test_index_entry_with_an_object_key_is_rejected(store: Store) -> None:
    with pytest.raises(errors.InvalidKey):
        await store.commit(contract.create("objects/k/x", b"", add_entries=["objects/k/y"]))
    with pytest.raises(errors.InvalidKey):
        await store.commit(contract.update("objects/k/x", b"", revision=Revision(1), remove_entries=["objects/k/x"]))
    assert await store.count("objects/") == 0


async def test_index_cannot_be_watched(store: Store) -> None:
    with pytest.raises(errors.BadRequest):
        await steps.collect_events(store, "owned/u/", after=await store.revision(), last=NO_REVISION)


async def test_error_says_what_is_wrong_without_repeating_the_bad_characters(store: Store) -> None:
    with pytest.raises(errors.InvalidKey, match=r"objects/a\\x00b.*control characters"):
        await store.read("objects/a\x00b")
    with pytest.raises(errors.InvalidKey, match="4,104 bytes of at most 4,096"):
        await store.read("objects/" + "x" * keys.MAX_BYTES)
