"""Computes the expected entries of the ownership index independently, from the objects that clients see."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

from probate.store import pagination
from probate.store.contract import Store
from support import sample_kinds
from support.in_process_server import InProcessServer

RANGES = ("owned/", "blocking/", "custom/", "waiting/", "orphaning/", "since/")
BUILT_IN = {("apps", "Deployment"), ("batch", "Job")}
"""Built-in kinds in named groups that tests refer to. All other kinds with a group are custom."""
FOREGROUND = {"foregroundDeletion", "CollectingGarbage", "GarbageCollectionInProgress"}


async def check_entries(server: InProcessServer, shorts: Iterable[str]) -> None:
    """Asserts that the store holds exactly the entries of these kinds' objects."""
    expected: set[str] = set()
    for short in shorts:
        kind = sample_kinds.KINDS[short]
        group = kind.version.rpartition("/")[0]
        for item in (await server.request("GET", kind.path())).json["items"]:
            meta = item["metadata"]
            key = f"objects/{kind.plural}{'.' if group else ''}{group}/{meta.get('namespace', '-')}/{meta['name']}"
            expected.update(entries_of(key, meta))
    assert await stored_entries(server.store) == expected


async def stored_entries(store: Store) -> set[str]:
    """Returns all entries in the store."""
    return {record.key for range_ in RANGES async for page in pagination.pages(store, range_) for record in page.records}


def entries_of(key: str, meta: dict[str, Any]) -> set[str]:
    namespace = meta.get("namespace", "-")
    found: set[str] = set()
    if key.startswith("objects/events/"):
        return found
    finalizers = set(meta.get("finalizers", ()))
    if "deletionTimestamp" in meta and finalizers & FOREGROUND:
        found |= {f"waiting/{meta['uid']}/{key}"}
    if "deletionTimestamp" in meta and "orphan" in finalizers:
        found |= {f"orphaning/{meta['uid']}/{key}"}
    if "deletionTimestamp" in meta and finalizers & {*FOREGROUND, "orphan"}:
        found |= {f"since/{meta['deletionTimestamp']}/{key}"}
    for ref in meta.get("ownerReferences", ()):
        if is_valid_name(ref["uid"]):
            found |= {f"owned/{ref['uid']}/{namespace}/{key}"}
            found |= {f"blocking/{ref['uid']}/{namespace}/{key}"} if ref.get("blockOwnerDeletion") else set()
        group, _, _ = ref["apiVersion"].rpartition("/")
        is_custom = (
            group
            and (group, ref["kind"]) not in BUILT_IN
            and is_valid_name(group)
            and is_valid_name(ref["kind"])
            and "." not in ref["kind"]
        )
        found |= {f"custom/{ref['kind']}.{group}/{key}"} if is_custom else set()
    return found


def is_valid_name(name: str) -> bool:
    """Whether this is a valid uid, kind or group."""
    simple = string.ascii_letters + string.digits
    return 0 < len(name) <= 128 and name[0] in simple and set(name) <= {*simple, ".", "-"}
