"""Reads all of a store without Probate: the tables of a SQLite file, or the keys of an etcd member by its JSON gateway.

So a test sees what is stored, and not what the server shows of it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import apsw
import httpx

from support.etcd_members import Member


class Stored(NamedTuple):
    """What a key holds. An index entry has no value."""

    revision: int
    value: bytes


RawContent = dict[str, Stored]
"""Everything in a store, by key: objects below `objects/`, index entries elsewhere."""
RawStore = Callable[[], RawContent]


def sqlite_file(path: Path) -> RawStore:
    """Returns how to read the objects (table `live`) and the index entries (table `entry`) of a SQLite store."""

    def read() -> RawContent:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            with db:  # both tables at one revision
                objects = list(db.execute("SELECT live.key, live.rev, log.value FROM live LEFT JOIN log ON log.rev = live.rev"))
                entries = list(db.execute("SELECT key, rev FROM entry"))
        finally:
            db.close()
        return {
            **{key: Stored(rev, bytes(value)) for key, rev, value in objects},
            **{key: Stored(rev, b"") for key, rev in entries},
        }

    return read


def etcd_root(member: Member, root: str) -> RawStore:
    """Returns how to read all keys of a store in etcd except those of the engine itself."""
    prefix = f"/{root}/keys/"

    def read() -> RawContent:
        body = {"key": _base64(prefix), "range_end": _base64(prefix[:-1] + "0")}
        answer = httpx.post(f"http://{member.endpoint}/v3/kv/range", json=body, timeout=60).raise_for_status().json()
        return dict(_stored(one, prefix) for one in answer.get("kvs", ()))

    return read


def _stored(found: Any, prefix: str) -> tuple[str, Stored]:
    key = base64.b64decode(found["key"]).decode().removeprefix(prefix)
    return key, Stored(int(found["mod_revision"]), base64.b64decode(found.get("value", "")))


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
