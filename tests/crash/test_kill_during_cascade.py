"""`kill -9` of servers during a cascade of 20,000 objects: the last server finishes it, and no other object is deleted.

root ─┬─ branch 0 ── its leaves         deleted in the background or foreground: everything below is deleted too,
      ├─ …                              except the leaves that `keeper` also owns: these stay, with only that owner left
      └─ branch 1999
parent ── its children                  deleted with orphan propagation: its children stay, without owners
keeper ── its own leaves                not touched
"""

from __future__ import annotations

import asyncio
import http.client
import random
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from probate.server.codec import object_codec
from probate.server.storage import index_entries
from probate.store import pagination
from probate.store.sqlite.store import open_file
from support.in_process_server import InProcessServer, running
from support.server_process import ServerProcess, run_killable_server

BRANCHES = 2_000
LEAVES = 9
CASCADE = BRANCHES * (LEAVES + 1)
SHARED_EVERY = 10
"""One branch in this number has a leaf that the keeper also owns."""
CHILDREN = 300
CASCADES = 10
KILLS = 3
"""The number of servers killed during one cascade."""

FOLDER = "/api/v1/namespaces/default/configmaps"


def owned_by(*owners: Any) -> list[Any]:
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "blockOwnerDeletion": True,
        }
        for owner in owners
    ]


async def make(house: InProcessServer, name: str, *owners: Any) -> Any:
    return await house.create("configmaps", "default", {"metadata": {"name": name, "ownerReferences": owned_by(*owners)}})


async def make_branch(house: InProcessServer, number: int, root: Any, keeper: Any) -> None:
    branch = await make(house, f"branch-{number}", root)
    for leaf in range(LEAVES):
        await make(house, f"leaf-{number}-{leaf}", branch)
    if number % SHARED_EVERY == 0:
        await make(house, f"shared-{number}", branch, keeper)


async def prepare(path: Path) -> None:
    """Creates a store with all objects, in which the collector has nothing to do."""
    async with running(await open_file(path)) as house:
        root, parent, keeper = [await make(house, name) for name in ("root", "parent", "keeper")]
        for start in range(0, BRANCHES, 100):
            await asyncio.gather(*(make_branch(house, number, root, keeper) for number in range(start, start + 100)))
        await asyncio.gather(*(make(house, f"child-{number}", parent) for number in range(CHILDREN)))
        await asyncio.gather(*(make(house, f"kept-{number}", keeper) for number in range(CHILDREN)))
        await house.wait_until_idle()


def expected() -> dict[str, set[str]]:
    """Returns, by name, the objects that must exist at the end, and the names of their owners."""
    kept = {f"kept-{number}": {"keeper"} for number in range(CHILDREN)}
    shared = {f"shared-{number}": {"keeper"} for number in range(0, BRANCHES, SHARED_EVERY)}
    orphans: dict[str, set[str]] = {f"child-{number}": set() for number in range(CHILDREN)}
    return {"keeper": set(), **kept, **shared, **orphans}


@contextmanager
def server(path: Path) -> Iterator[tuple[ServerProcess, http.client.HTTPConnection]]:
    """Yields a real server on this store, and a connection to it."""
    with run_killable_server(
        path.parent, f"sqlite:{path}", "--insecure", "--controllers", "collector,namespaces,definitions"
    ) as one:
        host, port = one.url.removeprefix("http://").split(":")
        with closing(http.client.HTTPConnection(host, int(port), timeout=60)) as connection:
            yield one, connection


def ask(connection: http.client.HTTPConnection, method: str, path: str, body: Any = None) -> Any:
    connection.request(method, path, orjson.dumps(body))
    answer = connection.getresponse()
    assert answer.status == 200
    return orjson.loads(answer.read())


def begin(connection: http.client.HTTPConnection, policy: str) -> str:
    """Deletes root and parent. Returns the revision before."""
    before = ask(connection, "GET", f"{FOLDER}?limit=1")["metadata"]["resourceVersion"]
    for name, how in (("root", policy), ("parent", "Orphan")):
        ask(connection, "DELETE", f"{FOLDER}/{name}", {"propagationPolicy": how})
    return str(before)


def kill(one: ServerProcess, connection: http.client.HTTPConnection, since: str, after: int) -> bool:
    """Kills the server once `after` objects have been deleted since that revision. Returns whether any remained to be deleted."""
    connection.request("GET", f"{FOLDER}?watch=1&resourceVersion={since}")
    events = connection.getresponse()
    gone = 0
    while gone < after:
        gone += events.readline().startswith(b'{"type":"DELETED"')
    one.kill()
    with suppress(http.client.IncompleteRead):
        while line := events.readline():
            gone += line.startswith(b'{"type":"DELETED"')
    return gone < CASCADE


async def finish(path: Path) -> dict[str, set[str]]:
    """Restarts, waits until the collector is done, checks all index entries, and returns the objects with their owners."""
    async with running(await open_file(path)) as house:
        await house.wait_until_idle()
        objects = [record async for page in pagination.pages(house.store, "objects/") for record in page.records]
        entries = {
            record.key
            for family in ("owned", "blocking", "inside", "waiting")
            async for page in pagination.pages(house.store, f"{family}/")
            for record in page.records
        }
        known = [
            (one.key, object_codec.meta(one.value)) for one in objects if not one.key.startswith("objects/positions.probate.dev/")
        ]
        assert entries == {entry for key, meta in known for entry in index_entries.entries_of(key, meta)}
        there = [(key.rpartition("/")[2], meta) for key, meta in known if key.startswith("objects/configmaps/default/")]
        return {name: {owner.name for owner in meta.owner_references} for name, meta in there}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prepared") / "probate.db"
    asyncio.run(prepare(path))
    return path


async def test_thirty_kills_in_the_middle_of_cascades_neither_lose_nor_leave_anything(prepared: Path, tmp_path: Path) -> None:
    rng = random.Random()  # noqa: S311
    in_the_middle = 0
    for turn in range(CASCADES):
        path, since = tmp_path / f"{turn}.db", ""
        shutil.copy(prepared, path)
        for after in sorted(rng.randrange(CASCADE) for _ in range(KILLS)):
            with server(path) as (one, connection):
                since = since or begin(connection, ("Background", "Foreground")[turn % 2])
                in_the_middle += kill(one, connection, since, after)
        assert await finish(path) == expected()
    assert in_the_middle > CASCADES * KILLS / 2
