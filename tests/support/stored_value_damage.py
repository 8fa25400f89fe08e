"""Damages stored values in a SQLite file or in etcd directly, without the knowledge of the store.

target = SqliteFile(folder)                                   or  EtcdRoot(member)
flip_bit(target, "objects/pods/default/x")                    changes one bit of the value
overwrite_with_garbage(target, "objects/pods/a/y")            replaces the value with text of the same length that is not JSON
"""

from __future__ import annotations

import base64
import itertools
from pathlib import Path
from typing import Any, Protocol

import apsw

from support import etcd_members

_numbers = itertools.count(1)


class DamageTarget(Protocol):
    """A store whose values can be read and overwritten directly."""

    address: str

    def value(self, key: str) -> bytes:
        """Returns the stored value of an object, with its checksum if that is part of it."""
        ...

    def write(self, key: str, value: bytes) -> None:
        """Overwrites the stored value of an object."""
        ...


def flip_bit(target: DamageTarget, key: str, *, bit: int = 77) -> None:
    """Flips one bit of the value."""
    value = bytearray(target.value(key))
    value[bit // 8 % len(value)] ^= 1 << bit % 8
    target.write(key, bytes(value))


def overwrite_with_garbage(target: DamageTarget, key: str) -> None:
    """Replaces the value with bytes of the same length that are not JSON."""
    target.write(key, b"?" * len(target.value(key)))


class SqliteFile:
    """A store file, which a server may have open."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "probate.db"
        self.address = f"sqlite:{self.path}"

    def run(self, statement: str, values: tuple[Any, ...] = ()) -> Any:
        db = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READWRITE)
        db.set_busy_timeout(10_000)
        try:
            return db.execute(statement, values).get
        finally:
            db.close()

    def value(self, key: str) -> bytes:
        value: bytes = self.run("SELECT value FROM log JOIN live USING (rev) WHERE live.key = ?", (key,))
        return value

    def write(self, key: str, value: bytes) -> None:
        self.run("UPDATE log SET value = ? WHERE rev = (SELECT rev FROM live WHERE key = ?)", (value, key))


class EtcdRoot:
    """A store under its own root in an etcd that other tests use too."""

    def __init__(self, member: etcd_members.Member) -> None:
        self._member = member
        self._root = f"damaged-{next(_numbers)}"
        self.address = f"etcd://{member.endpoint}/{self._root}"

    def _key(self, key: str) -> str:
        return base64.b64encode(f"/{self._root}/keys/{key}".encode()).decode()

    def value(self, key: str) -> bytes:
        return base64.b64decode(self._member.call("kv/range", key=self._key(key))["kvs"][0]["value"])

    def write(self, key: str, value: bytes) -> None:
        self._member.call("kv/put", key=self._key(key), value=base64.b64encode(value).decode())
