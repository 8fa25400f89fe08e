"""The index entries of a tenant's object are those that follow from the physical object: deleting it leaves none behind."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from probate.server.codec import object_codec
from probate.server.storage import index_entries
from probate.store import contract
from support import store_operations as steps
from support import tenant_stores

FAMILIES = tuple(family for family in index_entries.FAMILIES if family != "tenant/")
"""The families of entries that follow from the object alone."""

groups = st.sampled_from(("a.com", "apps", "b.com", "g" * 121, "g" * 122, "g" * 128, "111111-a.com", "*", ""))
kinds = st.sampled_from(("Foo", "Deployment", "Namespace", "Foo.bar", "Foo.a", ""))
owners = st.builds(
    lambda group, kind, uid, blocks: {
        "apiVersion": f"{group}/v1" if group else "v1",
        "kind": kind,
        "name": "x",
        "uid": uid,
        **({"blockOwnerDeletion": True} if blocks else {}),
    },
    groups,
    kinds,
    st.sampled_from(("u1", "u2", "no uid", "")),
    st.booleans(),
)
deletions = st.sampled_from(
    (
        {},
        {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]},
        {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["orphan"]},
    )
)
keys = st.sampled_from(("objects/pods/web/p", "objects/namespaces/-/web", "objects/foos.a.com/web/x", "objects/pods/objects/p"))


@given(st.lists(owners, max_size=3), deletions, keys)
@settings(max_examples=150)
def test_entries_follow_from_the_physical_object(references: list[dict[str, Any]], deletion: dict[str, Any], key: str) -> None:
    namespace, name = key.split("/")[2:]
    metadata = {
        "name": name,
        "uid": "own",
        "ownerReferences": references,
        **({} if namespace == "-" else {"namespace": namespace}),
        **deletion,
    }
    asyncio.run(check(key, orjson.dumps({"metadata": metadata})))


async def check(key: str, value: bytes) -> None:
    async with tenant_stores.cluster(follows=False) as cluster:
        view, entries = cluster.view(), index_entries.entries_of(key, object_codec.meta(value))
        revision = await steps.commit(view, contract.create(key, value, add_entries=entries))
        [record] = await steps.records(cluster.physical, "objects/")
        stored = {entry for family in FAMILIES for entry in await steps.list_keys(cluster.physical, family)}
        derived = set(index_entries.entries_of(record.key, object_codec.meta(record.value)))
        assert stored == {entry for entry in derived if not is_about_kind_with_dot(entry, value)}
        await steps.commit(view, contract.delete(key, revision=revision, remove_entries=entries))
        for family in index_entries.FAMILIES:
            assert await cluster.physical.count(family) == 0


def is_about_kind_with_dot(entry: str, value: bytes) -> bool:
    """There is no such kind, so its entry serves nobody."""
    kinds = {owner["kind"] for owner in orjson.loads(value)["metadata"]["ownerReferences"] if "." in owner["kind"]}
    return any(entry.startswith(f"custom/{kind}.") for kind in kinds)


@pytest.mark.parametrize("family", ["owned/", "custom/"])
async def test_entry_in_a_namespace_that_is_called_like_the_family_of_objects(family: str) -> None:
    async with tenant_stores.cluster(follows=False) as cluster:
        view, key = cluster.view(), "objects/pods/objects/p"
        owner = {"apiVersion": "a.com/v1", "kind": "Foo", "name": "x", "uid": "u"}
        value = orjson.dumps({"metadata": {"name": "p", "namespace": "objects", "ownerReferences": [owner]}})
        entries = index_entries.entries_of(key, object_codec.meta(value))
        await steps.commit(view, contract.create(key, value, add_entries=entries))
        assert await steps.list_keys(view, family) == [entry for entry in entries if entry.startswith(family)]
