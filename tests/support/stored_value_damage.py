"""Damage for real: stored values are changed where they lie, behind the back of the store, in a SQLite file or in an etcd.

places = SqliteFile(folder)             or  EtcdRoot(member)
places.flip("objects/pods/default/x")   one bit of the value
places.scribble("objects/pods/a/y")     something that is no JSON, of the same length
"""

from __future__ import annotations

import base64
import itertools
from pathlib import Path
from typing import Any, Protocol

import apsw

from support import etcd_members

_numbers = itertools.count(1)


class Place(Protocol):
    """Where a store lies, and who can break it."""

    store: str
    """The address."""

    def value(self, key: str) -> bytes:
        """What lies there."""
        ...

    def write(self, key: str, value: bytes) -> None:
        """Put something else there."""
        ...


def flip(place: Place, key: str, *, bit: int = 77) -> None:
    """Turn one bit of the value."""
    value = bytearray(place.value(key))
    value[bit // 8 % len(value)] ^= 1 << bit % 8
    place.write(key, bytes(value))


def scribble(place: Place, key: str) -> None:
    """Let the value be no JSON."""
    place.write(key, b"?" * len(place.value(key)))


class SqliteFile:
    """A store in a file, which a server may have open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "probate.db"
        self.store = f"sqlite:{self.path}"

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(10_000)
        try:
            return db.execute(statement, values).get
        finally:
            db.close()

    def value(self, key: str) -> bytes:
        found: bytes = self.run("SELECT value FROM log JOIN live USING (rev) WHERE live.key = ?", (key,))
        return found

    def write(self, key: str, value: bytes) -> None:
        self.run("UPDATE log SET value = ? WHERE rev = (SELECT rev FROM live WHERE key = ?)", (value, key))


class EtcdRoot:
    """A store in an etcd that others use too."""

    def __init__(self, member: etcd_members.Member) -> None:
        self._member = member
        self._root = f"damaged-{next(_numbers)}"
        self.store = f"etcd://{member.endpoint}/{self._root}"

    def _key(self, key: str) -> str:
        return base64.b64encode(f"/{self._root}/keys/{key}".encode()).decode()

    def value(self, key: str) -> bytes:
        return base64.b64decode(self._member.call("kv/range", key=self._key(key))["kvs"][0]["value"])

    def write(self, key: str, value: bytes) -> None:
        self._member.call("kv/put", key=self._key(key), value=base64.b64encode(value).decode())
