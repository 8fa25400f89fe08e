"""Files and folders that only their owner may read: those that hold objects, tokens or keys.

Their mode does not depend on the umask. The permissions of an existing file that other users may read are restricted, which is
logged. This works on the path: a file must not be opened for it, since closing any descriptor of a database drops SQLite's locks on
it.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
from pathlib import Path

from probate.core.logs import facts

FILE_MODE, FOLDER_MODE = 0o600, 0o700
_OTHER_USERS = 0o077

log = logging.getLogger(__name__)


def create(path: Path) -> bool:
    """Creates an empty file that only its owner may use. Returns False if the file exists already."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return False
    try:
        os.fchmod(file, FILE_MODE)  # a umask such as 0777 takes away even the owner's rights
    finally:
        os.close(file)
    return True


def replace(path: Path, content: bytes) -> None:
    """Writes a file, in place of the one that exists. Whoever reads it sees the old content or the new one. Raises `OSError`."""
    file, draft = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.", suffix=".new")
    try:
        with os.fdopen(file, "wb") as out:
            os.fchmod(out.fileno(), FILE_MODE)  # regardless of the umask
            out.write(content)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def create_folder(path: Path) -> None:
    """Creates this folder and missing parents, each for its owner only. Does not change folders that exist."""
    if path.is_dir():
        return
    create_folder(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        if not path.is_dir():
            raise
        return  # another process has created it meanwhile
    path.chmod(FOLDER_MODE)


def restrict(path: Path) -> None:
    """Removes other users' permissions on a file or folder. Does nothing if it does not exist."""
    try:
        status = path.lstat()
    except OSError:
        return
    mode = stat.S_IMODE(status.st_mode)
    if not mode & _OTHER_USERS or stat.S_ISLNK(status.st_mode):
        return
    restricted = mode & ~_OTHER_USERS
    try:
        path.chmod(restricted)
    except OSError as error:
        log.warning(
            "file is accessible to other users and its permissions cannot be restricted",
            extra=facts(path=str(path), mode=f"{mode:04o}", error=error.strerror),
        )
        return
    log.warning("file permissions restricted", extra=facts(path=str(path), was=f"{mode:04o}", now=f"{restricted:04o}"))
