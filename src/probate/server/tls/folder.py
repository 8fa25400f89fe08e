"""The certificates of a server, in a folder: made at its first start, and made anew before they end.

ca.crt, ca.key               sign the others; 10 years
server.crt, server.key       the server's, for the names in server.names; 1 year
admin.crt, admin.key         a client's who may do anything; 1 year
service-account.key          signs the tokens of service accounts

Only their owner may read the keys. A file is there whole or not at all.
"""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from probate import errors
from probate.machinery import certificates
from probate.machinery.rbac.users import MASTERS
from probate.server.tls import authority
from probate.server.tls.authority import Pair, Subject

CA_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)
ADMIN = Subject("probate-admin", (MASTERS,))
_NAMES = "server.names"
_PRIVATE = 0o600
_PUBLIC = 0o644


class Folder:
    """One folder with certificates."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def file(self, name: str) -> Path:
        """Where a file of this name is."""
        return self._path / name

    def read(self, name: str) -> bytes:
        """What is in a file of this name."""
        try:
            return self.file(name).read_bytes()
        except OSError as error:
            raise self._unusable(f"{name} cannot be read: {error.strerror}") from error

    def ensure(self, reached_by: tuple[str, ...], now: float) -> bool:
        """Make what is missing, or ends soon. Returns whether something was made."""
        self._begin()
        made = [self._ensure_authority(now)]
        made.append(self._ensure_pair("server", Subject("probate", (), reached_by), now, said=_NAMES))
        made.append(self._ensure_pair("admin", ADMIN, now))
        return any(made)

    def signing_key(self) -> bytes:
        """The key that signs the tokens of service accounts; made if there is none."""
        self._begin()
        if not self.file("service-account.key").exists():
            self._write("service-account.key", authority.new_signing_key(), _PRIVATE)
        return self.read("service-account.key")

    def _begin(self) -> None:
        try:
            self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise self._unusable(f"it cannot be made: {error.strerror}") from error

    def _ensure_authority(self, now: float) -> bool:
        there = [self.file(name).exists() for name in ("ca.crt", "ca.key")]
        if all(there):
            if certificates.not_after(self.read("ca.crt")) is None:
                raise self._unusable("ca.crt is no certificate")
            return False
        if any(there):
            raise self._unusable("of ca.crt and ca.key only one is there. Bring the other back, or move both away to get new ones")
        self._write_pair("ca", authority.new_authority(now, lifetime=CA_LIFETIME))
        return True

    def _ensure_pair(self, name: str, subject: Subject, now: float, *, said: str = "") -> bool:
        names = "\n".join(subject.reached_by).encode()
        is_same = not said or (self.file(said).exists() and self.read(said) == names)
        if is_same and self._is_good(name, now):
            return False
        signer = Pair(self.read("ca.crt"), self.read("ca.key"))
        self._write_pair(name, authority.issue(signer, subject, now, lifetime=LIFETIME))
        if said:
            self._write(said, names, _PUBLIC)
        return True

    def _is_good(self, name: str, now: float) -> bool:
        """Whether the certificate is there and has a third of its time left, or more."""
        if not self.file(f"{name}.crt").exists() or not self.file(f"{name}.key").exists():
            return False
        end = certificates.not_after(self.read(f"{name}.crt"))
        return end is not None and end - now > LIFETIME.total_seconds() / 3

    def _write_pair(self, name: str, pair: Pair) -> None:
        self._write(f"{name}.key", pair.key, _PRIVATE)
        self._write(f"{name}.crt", pair.certificate, _PUBLIC)

    def _write(self, name: str, content: bytes, mode: int) -> None:
        draft = self.file(f"{name}.new")
        try:
            draft.unlink(missing_ok=True)
            _create(draft, content, mode)
            draft.replace(self.file(name))
        except OSError as error:
            raise self._unusable(f"{name} cannot be written: {error.strerror}") from error

    def _unusable(self, why: str) -> errors.CannotOpen:
        return errors.CannotOpen(f"the folder of certificates {self._path} cannot be used: {why}. Name another with --pki")


def _create(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
