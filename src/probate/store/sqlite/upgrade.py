"""Upgrades a file written by an older version of Probate: in one transaction, so that a crash leaves the file unchanged.

    1 to 2   removes the index of the objects in each namespace. A version that needs this index must not open a file without it
    2 to 3   adds a checksum to each value of the log

The upgrade writes the new version number, with which an older Probate refuses to open the file. Damage that happened before a value
had a checksum is detected only if the value is not JSON any more: such a value gets a checksum that does not match, so that the
damage stays detectable.
"""

from __future__ import annotations

import logging
from typing import Any

import apsw

from probate.core.logs import facts
from probate.store import checksums

log = logging.getLogger(__name__)

_REMOVE_NAMESPACE_INDEX = "DELETE FROM entry WHERE key >= 'inside/' AND key < 'inside0'"
_ADD_COLUMN = "ALTER TABLE log ADD COLUMN crc INTEGER"
_FILL_COLUMN = "UPDATE log SET crc = probate_checksum(rev, key, value) WHERE value IS NOT NULL"
_FUNCTION = "probate_checksum"


def upgrade(db: apsw.Connection, version: int, target: int) -> None:
    """Upgrades the tables from one version to another."""
    log.warning("upgrading the store, older versions of Probate cannot open it afterwards", extra=facts(from_=version, to=target))
    db.execute("BEGIN IMMEDIATE")
    try:
        if version < 2:
            db.execute(_REMOVE_NAMESPACE_INDEX)
        if version < 3:
            _add_checksums(db)
        db.execute(f"PRAGMA user_version = {target}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _add_checksums(db: apsw.Connection) -> None:
    db.create_scalar_function(_FUNCTION, _checksum, 3, deterministic=True)  # type: ignore[arg-type]
    db.execute(_ADD_COLUMN)
    db.execute(_FILL_COLUMN)
    db.create_scalar_function(_FUNCTION, None, 3)


def _checksum(revision: Any, key: Any, value: Any) -> int:
    if not isinstance(value, bytes):
        return -1  # never a valid checksum
    checksum = checksums.compute(key, value, revision)
    return checksum if checksums.is_json(value) else ~checksum
