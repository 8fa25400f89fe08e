"""The certificates of a server, in a folder: made at its first start, and made anew before they end.

ca.crt, ca.key               sign the others; 10 years
server.crt, server.key       the server's, for the names in server.names; 1 year
admin.crt, admin.key         a client's who may do anything; 1 year
service-account.key          signs the tokens of service accounts

Only their owner may read the keys. A file is there whole or not at all. Several servers may share a folder: whoever makes something
holds a lock meanwhile (folder.lock), and looks again at what is there once it has it. What is there is checked at each start: an
authority that does not fit its key is refused; a certificate that does not fit the authority or its key is made anew.
"""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from probate.api.rbac.users import MASTERS
from probate.core import errors, private_files
from probate.core.logs import facts
from probate.http.tls import authority, chain
from probate.http.tls.authority import Pair, Subject
from probate.lib.x509 import certificates

CA_LIFETIME = timedelta(days=3650)
LIFETIME = timedelta(days=365)
ADMIN = Subject("probate-admin", (MASTERS,))
_NAMES = "server.names"
_PRIVATE = 0o600
_PUBLIC = 0o644
_KEYS = ("ca.key", "server.key", "admin.key", "service-account.key")

log = logging.getLogger(__name__)


_MOVE_AWAY = "Move all files of the folder away to get new ones; clients need the new kubeconfig then"


class Folder:
    """One folder with certificates."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked: dict[str, object] = {}  # what the files were like when they were last found to fit

    def file(self, name: str) -> Path:
        """Where a file of this name is."""
        return self._path / name

    def read(self, name: str) -> bytes:
        """What is in a file of this name."""
        try:
            return self.file(name).read_bytes()
        except OSError as error:
            raise self._unusable(f"{name} cannot be read: {error.strerror}") from error

    def ensure(self, reached_by: tuple[str, ...], now: float, *, waits: bool = True) -> bool:
        """Make what is missing, does not fit, or ends soon. Returns whether something was made.

        `CannotOpen` if another server is at it and this one `waits` for nobody: one that answers requests must not stand still.
        """
        self._begin()
        with self._locked(waits=waits):
            made = [self._ensure_authority(now)]
            made.append(self._ensure_pair("server", Subject("probate", (), reached_by), now, said=_NAMES))
            made.append(self._ensure_pair("admin", ADMIN, now))
        if self.file("service-account.key").exists():
            self._check_signing_key()
        return any(made)

    def signing_key(self) -> bytes:
        """The key that signs the tokens of service accounts; made if there is none."""
        self._begin()
        with self._locked():
            if not self.file("service-account.key").exists():
                self._write("service-account.key", authority.new_signing_key(), _PRIVATE)
        self._check_signing_key()
        return self.read("service-account.key")

    def _check_signing_key(self) -> None:
        if not certificates.is_private_key(self.read("service-account.key")):
            raise self._unusable(
                "service-account.key is not a private key in PEM format. Bring it back, or move it away to get a new one "
                "(tokens of service accounts that were signed with the old one end then)"
            )

    def _begin(self) -> None:
        try:
            private_files.create_folder(self._path)
        except OSError as error:
            raise self._unusable(f"it cannot be made: {error.strerror}") from error
        for path in (self._path, *map(self.file, _KEYS)):
            private_files.narrow(path)

    @contextmanager
    def _locked(self, *, waits: bool = True) -> Iterator[None]:
        """Keep other servers out while something is made here. Waits for the one that is at it: that takes a moment."""
        try:
            private_files.create(self.file("folder.lock"))
            file = os.open(self.file("folder.lock"), os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._unusable(f"folder.lock cannot be made: {error.strerror}") from error
        try:
            self._lock(file, waits=waits)
            yield
        finally:
            os.close(file)

    def _lock(self, file: int, *, waits: bool) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._unusable("another process holds folder.lock. This one tries again later") from error

    def _ensure_authority(self, now: float) -> bool:
        there = [self.file(name).exists() for name in ("ca.crt", "ca.key")]
        if all(there):
            self._check_authority(now)
            return False
        if any(there):
            raise self._unusable("of ca.crt and ca.key only one is there. Bring the other back, or move both away to get new ones")
        self._write_pair("ca", authority.new_authority(now, lifetime=CA_LIFETIME))
        return True

    def _check_authority(self, now: float) -> None:
        end = certificates.not_after(self.read("ca.crt"))
        if end is None:
            raise self._unusable("ca.crt is not a certificate. Bring it back, or move all files of the folder away to get new ones")
        if end <= now:
            raise self._unusable(f"ca.crt has expired. {_MOVE_AWAY}")
        self.read("ca.key")  # says so if it cannot be read
        if not chain.fits_key(self.file("ca.crt"), self.file("ca.key")):
            raise self._unusable(
                f"ca.crt and ca.key do not belong together (two servers may have made them at the same time). {_MOVE_AWAY}"
            )

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
        self.read(f"{name}.key")
        if self._fits_authority(name):
            return end is not None and end - now > LIFETIME.total_seconds() / 3
        told = facts(certificate=str(self.file(f"{name}.crt")))
        log.warning("certificate does not fit its key or ca.crt, a new one is made", extra=told)
        return False

    def _fits_authority(self, name: str) -> bool:
        """Whether the certificate fits its key and the authority. Files that have not changed since are not checked again."""
        authority, certificate, key = (self.file(one) for one in ("ca.crt", f"{name}.crt", f"{name}.key"))
        stamp = tuple((found.st_mtime_ns, found.st_ino) for found in (one.stat() for one in (authority, certificate, key)))
        if self._checked.get(name) != stamp:
            if not chain.is_signed_by(authority, certificate, key, is_client=name == "admin"):
                return False
            self._checked[name] = stamp
        return True

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
        return errors.CannotOpen(
            f"the folder of certificates {self._path} cannot be used: {why}. Or name another folder with --pki"
        )


def _create(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
