"""Authenticates static tokens from a file. The file lists their SHA-256, so that reading the file does not reveal the tokens.

    # sha256 of the token, user, uid, groups
    5e884898da28047151d0e56f8dc6292773603d0d6aabbd62a11ef721d1542d8,ann,,"staff,admins"

`probate token` creates tokens. They are random and long, so a slow password hash would gain nothing. The file is read again when it
changes; if the new file cannot be read, the tokens read before stay valid.
"""

from __future__ import annotations

import csv
import logging
import re
from pathlib import Path

from probate.api.rbac.users import AUTHENTICATED, User
from probate.core import errors
from probate.core.logs import facts
from probate.server.authn.token_authenticator import AuthenticatedToken
from probate.server.authn.verified_tokens import BearerToken, VerifiedToken

MAX_BYTES = 4 * 1024 * 1024

log = logging.getLogger(__name__)


class TokenFile:
    """The tokens of one file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp = self._file_stamp()
        self._users = read(path)
        self._generation = 0  # increases with each reading, even if nothing has changed

    async def verify(self, token: BearerToken) -> VerifiedToken | None:
        user = self._users.get(token.digest)
        return None if user is None else VerifiedToken(self, user, self._generation)

    def is_current(self, verified: VerifiedToken, _now: float) -> bool:
        return verified.generation == self._generation

    async def confirm(self, verified: VerifiedToken, _audiences: tuple[str, ...]) -> AuthenticatedToken:
        if verified.generation != self._generation:
            raise errors.Unauthorized
        return AuthenticatedToken(verified.user)

    def evict(self) -> None:
        """Does nothing: there is no cache besides the file's contents."""

    def refresh(self) -> bool:
        """Reads the file again if it has changed. Returns whether it did."""
        stamp = self._file_stamp()
        if stamp == self._stamp:
            return False
        try:
            self._users = read(self._path)
        except errors.CannotOpen as error:
            log.error("cannot read the token file, keeping its previous tokens", extra=facts(error=str(error)))  # noqa: TRY400 no traceback
            return False
        self._stamp = stamp  # only now: a file that could not be read is read again, even if it does not change until then
        self._generation += 1
        return True

    def _file_stamp(self) -> tuple[int, int, int]:
        try:
            status = self._path.stat()
        except OSError:
            return 0, 0, 0
        return status.st_mtime_ns, status.st_ino, status.st_size


def read(path: Path) -> dict[str, User]:
    """Returns users by the hash of their token. Raises `CannotOpen`, naming the wrong line."""
    try:
        text = path.read_bytes()[:MAX_BYTES].decode()
    except (OSError, UnicodeDecodeError) as error:
        raise errors.CannotOpen(f"the token file {path} cannot be read: {error}") from error
    rows = csv.reader(line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    return dict(_user(row, path) for row in rows)


def _user(row: list[str], path: Path) -> tuple[str, User]:
    digest, name, uid, groups = [*(part.strip() for part in row), "", "", ""][:4]
    if not re.fullmatch(r"[0-9a-f]{64}", digest) or not name:
        described = name or "without a user"
        raise errors.CannotOpen(
            f"the token file {path} has a line ({described}) that is not a token's SHA-256, a user, a uid and groups. "
            "`probate token` writes such lines"
        )
    group_names = [group.strip() for group in groups.split(",") if group.strip()]
    return digest, User(name, tuple(dict.fromkeys([*group_names, AUTHENTICATED])), uid)
