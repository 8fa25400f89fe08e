"""Tokens that a file lists: not as they are, but by their SHA-256, so that who reads the file cannot use them.

    # sha256 of the token, user, uid, groups
    5e884898da28047151d0e56f8dc6292773603d0d6aabbd62a11ef721d1542d8,ann,,"staff,admins"

`probate token` makes tokens, which are random and long: to hash them slowly would gain nothing. The file is read again when it has
changed; one that cannot be read then leaves things as they were.
"""

from __future__ import annotations

import csv
import logging
import re
from pathlib import Path

from probate.api.rbac.users import AUTHENTICATED, User
from probate.core import errors
from probate.server.authn.verified_tokens import ShownToken, VerifiedToken
from probate.server.context import Recognised

MAX_BYTES = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class Listed:
    """The tokens of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._look()
        self._users = read(path)
        self._generation = 0  # one more after each reading, also if nothing has changed

    async def verify(self, shown: ShownToken) -> VerifiedToken | None:
        user = self._users.get(shown.digest)
        return None if user is None else VerifiedToken(self, user, self._generation)

    def is_current(self, verified: VerifiedToken, _now: float) -> bool:
        return verified.generation == self._generation

    async def confirm(self, verified: VerifiedToken, _audiences: tuple[str, ...]) -> Recognised:
        if verified.generation != self._generation:
            raise errors.Unauthorized
        return Recognised(verified.user)

    def evict(self) -> None:
        """There is no cache: the file as it was read is all there is."""

    def refresh(self) -> bool:
        """Read the file again if it has changed. Returns whether."""
        stamp = self._look()
        if stamp == self._stamp:
            return False
        try:
            self._users = read(self._path)
        except errors.CannotOpen as error:
            log.error("the tokens stay as they were: %s", error)  # noqa: TRY400 the reason is all there is to tell
            return False
        self._stamp = stamp  # not before: one that could not be read is read again, whether or not it has changed by then
        self._generation += 1
        return True

    def _look(self) -> tuple[int, int, int]:
        try:
            found = self._path.stat()
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_ino, found.st_size


def read(path: Path) -> dict[str, User]:
    """Users by the hash of their token. `CannotOpen` says which line is wrong."""
    try:
        text = path.read_bytes()[:MAX_BYTES].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CannotOpen(f"the file of tokens {path} cannot be read: {error}") from error
    rows = csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return dict(_user(row, path) for row in rows)


def _user(row: list[str], path: Path) -> tuple[str, User]:
    digest, name, uid, groups = [*(part.strip() for part in row), "", "", ""][:4]
    if not re.fullmatch(r"[0-9a-f]{64}", digest) or not name:
        shown = name or "without a user"
        raise errors.CannotOpen(
            f"the file of tokens {path} has a line ({shown}) that is not a token's SHA-256, a user, a uid and groups. "
            "`probate token` writes such lines"
        )
    listed = [group.strip() for group in groups.split(",") if group.strip()]
    return digest, User(name, tuple(dict.fromkeys([*listed, AUTHENTICATED])), uid)
