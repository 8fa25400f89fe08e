"""Verifies that a synced commit is safe to acknowledge, and that the disk has space for another commit."""

from __future__ import annotations

import logging
import os
from pathlib import Path

from probate.core import errors
from probate.core.logs import facts
from probate.store.contract import Revision
from probate.store.sqlite import sqlite_failures
from probate.store.sqlite.files.file_checks import StoreFiles
from probate.store.sqlite.files.watermark import Watermark

MIN_FREE_BYTES = 1024 * 1024
"""Free bytes on the file system of the store below which the store is not ready."""

log = logging.getLogger(__name__)


class Durability:
    """Checks the files of an open store and maintains the watermark beside them."""

    def __init__(self, path: Path, files: StoreFiles, watermark: Watermark) -> None:
        self.watermark = watermark
        self._folder = path.parent
        self._files = files
        self._is_watermark_writable = True
        self._is_lost = False

    def confirm(self, revision: Revision) -> None:
        """Updates the watermark after a commit. Raises `StoreFilesLost` if the files do not hold the commit.

        To be called on the commit thread only.
        """
        self._files.check_commit()
        try:
            self.watermark.write(revision)
        except OSError as error:  # the watermark stays lower than necessary, which is safe
            if self._is_watermark_writable:
                log.warning("watermark cannot be written", extra=facts(revision=revision, error=error.strerror))
            self._is_watermark_writable = False
        else:
            self._is_watermark_writable = True

    def check(self) -> None:
        """Raises `StoreFilesLost` if a file was removed, replaced or truncated."""
        self._files.check_names()

    def check_free_space(self) -> None:
        """Raises `StoreFull` if the next write may not find space."""
        status = os.statvfs(self._folder)
        free = status.f_bavail * status.f_frsize
        if free < MIN_FREE_BYTES:
            raise errors.StoreFull(f"{sqlite_failures.DISK_FULL}. The file system of the store has {free} bytes left")

    def is_intact(self) -> bool:
        """Returns whether all files are known to be as the store left them."""
        if not self._is_lost:
            try:
                self.check()
            except errors.StoreFilesLost:
                self.record_loss()
        return not self._is_lost

    def record_loss(self) -> None:
        """Records that the files are not as the store left them, so that no later check calls them intact.

        If the watermark was removed too, puts it back: otherwise the next start would find nothing, and begin with an empty store.
        """
        self._is_lost = True
        try:
            self.watermark.restore()
        except OSError as error:
            log.warning("watermark cannot be put back", extra=facts(error=error.strerror))

    def close(self) -> None:
        """Closes the files. The watermark is durable afterwards."""
        self._files.close()
        self.watermark.close()
