"""A raw scan of a store for what remains of a tenant. It uses no index, and no code that decides to whom an object belongs.

Anything counts that has the tenant's prefix in its key, or its label in its value: objects, index entries of all families, and the
Tenant with its entries. Events of the platform about it do not: they lie in the namespace `default`, and expire.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from probate.server.storage import index_entries
from probate.store import pagination
from probate.store.contract import Store

Contents = Mapping[str, bytes]
"""All objects by key, with their values, and all index entries."""

_LIVE = "SELECT live.key, log.value FROM live JOIN log ON log.rev = live.rev"
_FAMILIES = (*index_entries.FAMILIES, "tenant-open/", "ip/", "nodeport/", "quota/")
_EVENTS_OF_PLATFORM = "objects/events/default/"


def contents_of_file(path: Path) -> Contents:
    """Reads a SQLite store that no server uses."""
    with closing(sqlite3.connect(path)) as database:
        objects = {key: bytes(value) for key, value in database.execute(_LIVE)}
        return objects | {key: b"" for (key,) in database.execute("SELECT key FROM entry")}


async def contents(store: Store) -> Contents:
    """Reads a store of any engine."""
    found: dict[str, bytes] = {}
    for prefix in ("objects/", *_FAMILIES):
        async for page in pagination.pages(store, prefix):
            found |= {record.key: record.value for record in page.records}
    return found


def remains(there: Contents, tenant: str) -> list[str]:
    """Returns the keys of what remains of a tenant."""
    named = re.compile(rf"[/.]{tenant}-|^tenant/{tenant}/|^tenant-open/{tenant}$|/tenants\.tenant\.kubezoo\.io/-/{tenant}$")
    label = f'"kubezoo.io/tenant":"{tenant}"'.encode()
    return sorted(
        key
        for key, value in there.items()
        if not key.startswith(_EVENTS_OF_PLATFORM) and (named.search(key) is not None or label in value)
    )


def parts_of(there: Contents, tenant: str) -> Contents:
    """Returns what belongs to a tenant that exists, with the Tenant: the same as long as nobody changes it."""
    return {key: there[key] for key in remains(there, tenant)}


def wrong_entries(there: Contents) -> list[str]:
    """Returns the entries of tenants that disagree with the objects and their labels.

    A cluster-scoped object that is named like those of a tenant that does not exist has an entry, too.
    """
    labels = ((key, re.search(rb'"kubezoo\.io/tenant":"([^"]*)"', value)) for key, value in there.items())
    expected = {f"tenant/{found[1].decode()}/{key}" for key, found in labels if found is not None}
    found = {key for key in there if key.startswith("tenant/")}
    return sorted((expected - found) | {entry for entry in found - expected if not _keeps_a_name(there, entry)})


def _keeps_a_name(there: Contents, entry: str) -> bool:
    _, tenant, key = entry.split("/", 2)
    return key in there and f"objects/tenants.tenant.kubezoo.io/-/{tenant}" not in there
