"""What has to be true before a commit is acknowledged, besides that SQLite has synced it; and whether there is room for another."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from probate.core import errors
from probate.core.logs import facts
from probate.store.contract import Revision
from probate.store.sqlite import failures
from probate.store.sqlite.files.file_checks import StoreFiles
from probate.store.sqlite.files.watermark import Watermark

LEAST_ROOM = 1024 * 1024
"""Bytes that must be free on the file system of the store for it to count as ready."""

log = logging.getLogger(__name__)


class Durability:
    """The files of an open store, and the watermark beside them."""

    def __init__(self, path: Path, files: StoreFiles, watermark: Watermark) -> None:
        self.watermark = watermark
        self._folder = path.parent
        self._files = files
        self._is_noted = True
        self.is_lost = False  # set by the store, when it has stopped writing

    def confirm(self, revision: Revision) -> None:
        """After a commit: `StoreFilesLost` if the files do not hold it. Only for the thread that commits."""
        self._files.check_commit()
        try:
            self.watermark.note(revision)
        except OSError as error:  # it stays lower than it could be, which is safe
            if self._is_noted:
                log.warning("watermark cannot be written", extra=facts(revision=revision, error=error.strerror))
            self._is_noted = False
        else:
            self._is_noted = True

    def check(self) -> None:
        """`StoreFilesLost` if a file was removed, replaced or truncated."""
        self._files.check_names()

    def check_room(self) -> None:
        """`StoreFull` if the next write may not find room."""
        found = os.statvfs(self._folder)
        free = found.f_bavail * found.f_frsize
        if free < LEAST_ROOM:
            raise errors.StoreFull(f"{failures.NO_ROOM}. The file system of the store has {free} bytes left")

    def is_intact(self) -> bool:
        """Whether all files are as the store left them, as far as is known."""
        if self.is_lost:
            return False
        try:
            self.check()
        except errors.StoreFilesLost:
            return False
        return True

    def close(self) -> None:
        """Let go of the files. The watermark is durable after this."""
        self._files.close()
        self.watermark.close()
