"""`seek_name`: a scan for one name skips objects, and misses none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from probate.server.storage import storage_keys
from probate.server.verbs import list as listing
from support.in_process_server import InProcessServer, running

RANGE = "objects/configmaps/"
NAMES = st.text("ab-.é", min_size=1, max_size=4)
MAPS = "/api/v1/configmaps"


def scan(keys: list[str], after: str, limit: int) -> list[str]:
    return [key for key in sorted(keys) if key > after][:limit]


@given(st.sets(st.tuples(NAMES, NAMES)), NAMES, st.integers(1, 5))
def test_seeking_a_name_misses_no_object(stored: set[tuple[str, str]], name: str, limit: int) -> None:
    keys = [f"{RANGE}{namespace}/{item}" for namespace, item in stored]
    found, read = [], scan(keys, RANGE, limit)
    while read:
        found += [key for key in read if key.rpartition("/")[2] == name]
        read = scan(keys, storage_keys.seek_name(read[-1], name), limit)
    assert found == sorted(key for key in keys if key.rpartition("/")[2] == name)


@given(st.sets(st.text("bcd", min_size=1, max_size=6), min_size=30, max_size=40))
def test_seeking_a_name_does_not_read_the_rest_of_the_namespace(names: set[str]) -> None:
    keys = [f"{RANGE}one/{name}" for name in names] + [f"{RANGE}two/{name}" for name in names]
    number, read = 0, scan(keys, RANGE, 5)
    while read:
        number += len(read)
        read = scan(keys, storage_keys.seek_name(read[-1], "a"), 5)
    assert number == 10


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcessServer]:
    monkeypatch.setattr(listing, "FIRST_CHUNK_RECORDS", 2)
    monkeypatch.setattr(listing, "MAX_CHUNK_RECORDS", 2)
    async with running(collects=False) as server:
        yield server


@pytest.mark.parametrize("selector", ["metadata.name=c", "metadata.name=c,metadata.namespace!=other"])
async def test_list_of_one_name_read_every_object_of_the_kind(server: InProcessServer, selector: str) -> None:
    for namespace in ("one", "one-a", "other"):
        await server.create("namespaces", "", {"metadata": {"name": namespace}})
        for name in "abcdefghijkl":
            await server.create("configmaps", namespace, {"metadata": {"name": name}})
    scans = []
    plain = server.store.scan

    async def counted(*arguments: object, **options: object) -> object:
        page = await plain(*arguments, **options)  # type: ignore[arg-type]
        scans.append(len(page.records))
        return page

    server.store.scan = counted  # type: ignore[assignment]
    response = await server.request("GET", MAPS, query={"fieldSelector": selector})
    expected = ["one-a", "one", "other"] if selector == "metadata.name=c" else ["one-a", "one"]
    assert [item["metadata"]["namespace"] for item in response.json["items"]] == expected
    assert sum(scans) <= 20
