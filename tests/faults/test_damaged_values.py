"""How a store reports values that differ from what was written: in a file, where everything can be damaged, and in memory."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from probate.core import errors
from probate.store import checksums
from probate.store.contract import DamagedRecord, EmptyRange, FailedGuards, create, delete, update
from probate.store.sqlite.store import SqliteStore, open_file
from support import stored_value_damage
from support.rbac_server import RBAC, RbacServer, running_with_rbac
from support.stored_value_damage import SqliteFile

KEYS = [f"objects/things/a/{letter}" for letter in "vwxyz"]
X = KEYS[2]
VALUE = b'{"metadata":{"name":"x"}}'


@asynccontextmanager
async def open_store(path: Path) -> AsyncIterator[SqliteStore]:
    store = await open_file(path)
    try:
        yield store
    finally:
        await store.close()


async def create_store(folder: Path) -> SqliteFile:
    place = SqliteFile(folder)
    async with open_store(place.path) as store:
        await store.commit_many([create(key, VALUE) for key in KEYS])
    return place


@pytest.mark.parametrize("bit", range(0, 8 * len(VALUE), 5))
async def test_a_flipped_bit_is_read_as_if_it_had_been_written(tmp_path: Path, bit: int) -> None:
    place = await create_store(tmp_path)
    stored_value_damage.flip_bit(place, X, bit=bit)
    async with open_store(place.path) as store:
        with pytest.raises(errors.DamagedObject):
            await store.read(X)
        assert [type(one) for one in await store.read_many(KEYS)] == [type(one) for one in await _expected(store)]
        page = await store.scan("objects/", limit=10)
        assert [one.key for one in page.records] == [key for key in KEYS if key != X]
        assert [one.key for one in page.damaged_records] == [X]


async def _expected(store: SqliteStore) -> list[Any]:
    return [DamagedRecord(X, store.damaged_objects.by_key[X].revision, "") if key == X else await store.read(key) for key in KEYS]


SWAPPED = "UPDATE log SET {0} = (SELECT {0} FROM log AS other WHERE other.key LIKE '%/y') WHERE key LIKE '%/x'"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE log SET crc = crc + 1 WHERE key LIKE '%/x'",
        "UPDATE log SET crc = NULL WHERE key LIKE '%/x'",
        "UPDATE log SET value = NULL WHERE key LIKE '%/x'",
        "UPDATE log SET value = 'text' WHERE key LIKE '%/x'",
        "UPDATE log SET value = 7 WHERE key LIKE '%/x'",
        "DELETE FROM log WHERE key LIKE '%/x'",
        "UPDATE live SET rev = (SELECT rev FROM live WHERE key LIKE '%/y') WHERE key LIKE '%/x'",
        SWAPPED.format("crc"),
    ],
)
async def test_other_damage_of_one_row_makes_its_object_absent_or_another(tmp_path: Path, statement: str) -> None:
    place = await create_store(tmp_path)
    place.run(statement)
    async with open_store(place.path) as store:
        for _ in range(2):
            with pytest.raises(errors.DamagedObject):
                await store.read(X)
        page = await store.scan("objects/things/", limit=10)
        assert [one.key for one in page.records] == [key for key in KEYS if key != X]
        assert [one.key for one in page.damaged_records] == [X]
        assert await store.count("objects/things/") == len(KEYS)
        assert await store.nonempty_ranges(["objects/things/a/"]) == {"objects/things/a/"}
        refused = await store.commit(create("objects/other/a/b", VALUE, guards=[EmptyRange("objects/things/")]))
        assert isinstance(refused, FailedGuards), "an object that cannot be read was taken for none"


async def test_an_older_version_stands_in_for_a_newer_one(tmp_path: Path) -> None:
    place = await create_store(tmp_path)
    async with open_store(place.path) as store:
        before = await store.read(X)
        assert before is not None
        await store.commit(update(X, b'{"new":1}', revision=before.revision))
    place.run(
        "UPDATE log SET value = (SELECT value FROM log WHERE rev = ?) WHERE rev = (SELECT max(rev) FROM log)", (before.revision,)
    )
    async with open_store(place.path) as store:
        with pytest.raises(errors.DamagedObject):
            await store.read(X)
        assert await store.read(X, at=before.revision) == before


async def test_pages_end_where_a_damaged_object_is(tmp_path: Path) -> None:
    place = await create_store(tmp_path)
    stored_value_damage.overwrite_with_garbage(place, X)
    async with open_store(place.path) as store:
        names, after, more = [], "", True
        while more:
            page = await store.scan("objects/", after=after, limit=1)
            names += [one.key for one in page.records]
            after, more = page.last_key, page.has_more
        assert names == [key for key in KEYS if key != X]
        then = await store.scan("objects/", limit=3, at=page.revision)
        assert (len(then.records), [one.key for one in then.damaged_records], then.last_key) == (2, [X], X)


async def test_a_damaged_object_can_be_replaced_by_who_knows_its_revision(tmp_path: Path) -> None:
    place = await create_store(tmp_path)
    stored_value_damage.overwrite_with_garbage(place, X)
    async with open_store(place.path) as store:
        with pytest.raises(errors.DamagedObject) as damaged:
            await store.read(X)
        revision = await store.revision()
        async with store.watch("objects/", after=revision) as all_, store.watch("objects/others/", after=revision) as others:
            await store.commit(create("objects/others/a/first", VALUE))
            result = await store.commit(update(X, b"{}", revision=damaged.value.revision))  # type: ignore[arg-type]
            assert isinstance(result, int)
            await store.commit(create("objects/others/a/last", VALUE))
            assert [event.key async for batch in _until(all_, 1) for event in batch] == ["objects/others/a/first"]
            with pytest.raises(errors.Gone):
                await anext(aiter(all_))
            told = [event.key async for batch in _until(others, 2) for event in batch]
            assert told == ["objects/others/a/first", "objects/others/a/last"], "a watch of other objects missed something"
        found = await store.read(X)
        assert found is not None
        assert found.value == b"{}"
        assert not store.damaged_objects.by_key
        await store.commit(delete(X, revision=found.revision))


async def _until(watch: Any, number: int) -> AsyncIterator[Any]:
    seen = 0
    async for batch in watch:
        seen += len(batch)
        yield batch
        if seen >= number:
            return


def test_a_missing_checksum_is_distinguished_from_a_wrong_one() -> None:
    sealed = checksums.append_checksum("objects/a/b", VALUE)
    assert checksums.strip_checksum("objects/a/b", sealed) == VALUE
    assert checksums.strip_checksum("objects/a/c", sealed) is None
    for bit in range(8 * len(sealed)):
        damaged = bytearray(sealed)
        damaged[bit // 8] ^= 1 << bit % 8
        assert checksums.strip_checksum("objects/a/b", bytes(damaged)) is None
        assert checksums.has_checksum(bytes(damaged)) or not checksums.is_json(bytes(damaged))
    assert not checksums.has_checksum(VALUE)


def damage(house: RbacServer, key: str) -> None:
    assert isinstance(house.engine, SqliteStore)
    db: apsw.Connection = house.engine.database.writer
    db.execute("UPDATE log SET value = zeroblob(20) WHERE rev = (SELECT rev FROM live WHERE key = ?)", (key,))


async def test_who_has_no_right_to_it_removes_a_damaged_object() -> None:
    path, unsafe = "/api/v1/namespaces/a/configmaps/x", {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    async with running_with_rbac() as house:
        await house.create("configmaps", "a", {"metadata": {"name": "x"}})
        damage(house, "objects/configmaps/a/x")
        rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "delete"]}
        await house.grant("ann", rule, namespace="a")
        refused = await house.ask_as("ann", "DELETE", path, body=unsafe)
        assert refused.code == 403
        assert "unsafe-delete-ignore-read-errors" in refused.json["message"]
        await house.grant("ann", {**rule, "verbs": ["unsafe-delete-ignore-read-errors"]}, namespace="a")
        assert (await house.ask_as("ann", "DELETE", path, body=unsafe)).code == 200
        assert (await house.ask_as("ann", "GET", path)).code == 404


async def test_a_damaged_role_grants_what_it_granted_or_ends_all_grants() -> None:
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    path = "/api/v1/namespaces/a/configmaps"
    async with running_with_rbac() as house:
        await house.grant("ann", rule, namespace="a")
        await house.grant("bob", rule, namespace="a")
        assert (await house.ask_as("ann", "GET", path)).code == 200
        roles = (await house.request("GET", f"{RBAC}/namespaces/a/roles")).json["items"]
        damage(house, f"objects/roles.rbac.authorization.k8s.io/a/{roles[0]['metadata']['name']}")
        listed = await house.request("GET", f"{RBAC}/namespaces/a/roles", query={"limit": "500"})
        assert len(listed.json["items"]) == 1
        name = roles[0]["metadata"]["name"]
        unsafe = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
        assert (await house.request("DELETE", f"{RBAC}/namespaces/a/roles/{name}", unsafe)).code == 200
        assert (await house.ask_as("ann", "GET", path)).code == 403, "a role that is gone still grants"
        assert (await house.ask_as("bob", "GET", path)).code == 200
        await house.grant("cid", rule, namespace="a")
        assert (await house.ask_as("cid", "GET", path)).code == 200, "grants are not followed any more"
