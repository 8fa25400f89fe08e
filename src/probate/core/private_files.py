"""Files and folders that only their owner may read: those that hold objects, tokens or keys.

Their mode does not depend on the umask. One that exists already and is open to others is narrowed, and the log says so. That goes
by name, since a file must not be opened for it: closing any descriptor of a database drops the locks that SQLite holds on it.
"""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

from probate.core.logs import facts

FILE, FOLDER = 0o600, 0o700
_OTHERS = 0o077

log = logging.getLogger(__name__)


def create(path: Path) -> bool:
    """Make an empty file that only its owner may use. Returns False if there is a file of this name already."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE)
    except FileExistsError:
        return False
    try:
        os.fchmod(file, FILE)  # a umask such as 0777 takes away even the owner's rights
    finally:
        os.close(file)
    return True


def create_folder(path: Path) -> None:
    """Make this folder and those above it that are missing, each for its owner only. One that exists stays as it is."""
    if path.is_dir():
        return
    create_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER)
    except FileExistsError:
        if not path.is_dir():
            raise
        return  # another process was faster
    path.chmod(FOLDER)


def narrow(path: Path) -> None:
    """Take from others the right to use a file or folder that exists. Does nothing if there is none."""
    try:
        found = path.lstat()
    except OSError:
        return
    mode = stat.S_IMODE(found.st_mode)
    if not mode & _OTHERS or stat.S_ISLNK(found.st_mode):
        return
    narrowed = mode & ~_OTHERS
    try:
        path.chmod(narrowed)
    except OSError as error:
        told = facts(path=str(path), mode=f"{mode:04o}", error=error.strerror)
        log.warning("file is open to other users and its permissions cannot be narrowed", extra=told)
        return
    log.warning("file permissions narrowed", extra=facts(path=str(path), was=f"{mode:04o}", now=f"{narrowed:04o}"))
