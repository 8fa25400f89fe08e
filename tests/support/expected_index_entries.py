"""The entries of the ownership index that there should be, made once more from the objects that clients see."""

from __future__ import annotations

import string
from collections.abc import Iterable
from typing import Any

from probate.store import paging
from probate.store.contract import Store
from support import sample_kinds
from support.in_process_server import House

RANGES = ("owned/", "blocking/", "custom/", "waiting/", "orphaning/", "since/")
BUILT_IN = {("apps", "Deployment"), ("batch", "Job")}
"""Of the groups that tests refer to; whatever else has a group can only be a custom kind."""
FOREGROUND = {"foregroundDeletion", "CollectingGarbage", "GarbageCollectionInProgress"}


async def check(server: House, shorts: Iterable[str]) -> None:
    """The store has the entries of these kinds' objects, and no others."""
    expected: set[str] = set()
    for short in shorts:
        kind = sample_kinds.KINDS[short]
        group = kind.version.rpartition("/")[0]
        for item in (await server.ask("GET", kind.path())).json["items"]:
            meta = item["metadata"]
            key = f"objects/{kind.plural}{'.' if group else ''}{group}/{meta.get('namespace', '-')}/{meta['name']}"
            expected.update(entries(key, meta))
    assert await stored(server.store) == expected


async def stored(store: Store) -> set[str]:
    """All entries there are."""
    return {record.key for range_ in RANGES async for page in paging.pages(store, range_) for record in page.records}


def entries(key: str, meta: dict[str, Any]) -> set[str]:
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
        if is_sound(ref["uid"]):
            found |= {f"owned/{ref['uid']}/{namespace}/{key}"}
            found |= {f"blocking/{ref['uid']}/{namespace}/{key}"} if ref.get("blockOwnerDeletion") else set()
        group, _, _ = ref["apiVersion"].rpartition("/")
        is_custom = group and (group, ref["kind"]) not in BUILT_IN and is_sound(group) and is_sound(ref["kind"])
        found |= {f"custom/{ref['kind']}.{group}/{key}"} if is_custom else set()
    return found


def is_sound(name: str) -> bool:
    """Whether an object, a kind or a group can be called so."""
    simple = string.ascii_letters + string.digits
    return 0 < len(name) <= 128 and name[0] in simple and set(name) <= {*simple, ".", "-"}
