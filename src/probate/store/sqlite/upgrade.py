"""Brings a file that an older version wrote up to date: in one transaction, so a crash leaves it as it was.

    1 to 2   version 1 kept an index of what lies in each namespace. Who still needs it must not open a file that has none
    2 to 3   each value of the log has a checksum

Whoever opens the file after that sees the new version, and an older Probate refuses it. A value that was damaged before it had a
checksum shows only where it is no JSON any more: it gets a checksum that does not match, so that it stays known to be damaged.
"""

from __future__ import annotations

import logging
from typing import Any

import apsw

from probate.core.logs import facts
from probate.store import checksums

log = logging.getLogger(__name__)

_FROM_1 = "DELETE FROM entry WHERE key >= 'inside/' AND key < 'inside0'"
_ADD = "ALTER TABLE log ADD COLUMN crc INTEGER"
_FILL = "UPDATE log SET crc = probate_checksum(rev, key, value) WHERE value IS NOT NULL"
_FUNCTION = "probate_checksum"


def upgrade(db: apsw.Connection, version: int, target: int) -> None:
    """From one version to another."""
    log.warning("upgrading the store, older versions of Probate cannot open it afterwards", extra=facts(from_=version, to=target))
    db.execute("BEGIN IMMEDIATE")
    try:
        if version < 2:
            db.execute(_FROM_1)
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
    db.execute(_ADD)
    db.execute(_FILL)
    db.create_scalar_function(_FUNCTION, None, 3)


def _checksum(revision: Any, key: Any, value: Any) -> int:
    if not isinstance(value, bytes):
        return -1  # no checksum is that
    found = checksums.of(key, value, revision)
    return found if checksums.is_json(value) else ~found
