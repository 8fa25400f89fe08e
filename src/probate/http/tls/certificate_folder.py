"""The certificates of a server, in a folder: issued at its first start, and renewed before they expire.

ca.crt, ca.key               the certificate authority that signs the others; 10 years
server.crt, server.key       the server's, for the names in server.names; 1 year
admin.crt, admin.key         a client's that may do everything; 1 year
service-account.key          signs service account tokens

Only their owner may read the keys. A file is written whole or not at all. Several servers may share a folder: a server that writes
holds a lock (folder.lock), and reads the files again once it has it. The files are checked at each start: an authority that does
not match its key is refused; a certificate that does not match the authority or its key is replaced by a new one.
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
from probate.http.tls import authority, certificate_checks
from probate.http.tls.authority import KeyPair, Subject
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


class CertificateFolder:
    """One server's folder of certificates and keys. All methods raise `CannotOpen` if the folder or a file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked: dict[str, object] = {}  # fingerprints of the files when they last passed the checks

    def path_of(self, name: str) -> Path:
        """Returns the path of the file of this name."""
        return self._path / name

    def read(self, name: str) -> bytes:
        """Returns the content of the file of this name."""
        try:
            return self.path_of(name).read_bytes()
        except OSError as error:
            raise self._unusable(f"{name} cannot be read: {error.strerror}") from error

    def ensure(self, alternative_names: tuple[str, ...], now: float, *, waits: bool = True) -> bool:
        """Issues certificates that are missing, do not match, or expire soon. Returns whether it issued any.

        Raises `CannotOpen` if another server holds the lock and `waits` is false: a server that answers requests must not block.
        """
        self._prepare()
        with self._locked(waits=waits):
            changes = [self._ensure_authority(now)]
            changes.append(self._ensure_pair("server", Subject("probate", (), alternative_names), now, names_file=_NAMES))
            changes.append(self._ensure_pair("admin", ADMIN, now))
        if self.path_of("service-account.key").exists():
            self._check_signing_key()
        return any(changes)

    def signing_key(self) -> bytes:
        """Returns the key that signs service account tokens; creates it if it does not exist."""
        self._prepare()
        with self._locked():
            if not self.path_of("service-account.key").exists():
                self._write("service-account.key", authority.new_signing_key(), _PRIVATE)
        self._check_signing_key()
        return self.read("service-account.key")

    def _check_signing_key(self) -> None:
        if not certificates.is_private_key(self.read("service-account.key")):
            raise self._unusable(
                "service-account.key is not a private key in PEM format. Restore it, or move it away to get a new one "
                "(service account tokens that were signed with the old key become invalid)"
            )

    def _prepare(self) -> None:
        try:
            private_files.create_folder(self._path)
        except OSError as error:
            raise self._unusable(f"it cannot be created: {error.strerror}") from error
        for path in (self._path, *map(self.path_of, _KEYS)):
            private_files.restrict(path)

    @contextmanager
    def _locked(self, *, waits: bool = True) -> Iterator[None]:
        """Holds the folder's lock. If it `waits`, blocks while another server holds the lock, which takes a moment."""
        try:
            private_files.create(self.path_of("folder.lock"))
            file = os.open(self.path_of("folder.lock"), os.O_RDWR | os.O_CLOEXEC)
        except OSError as error:
            raise self._unusable(f"folder.lock cannot be created: {error.strerror}") from error
        try:
            self._lock(file, waits=waits)
            yield
        finally:
            os.close(file)

    def _lock(self, file: int, *, waits: bool) -> None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX if waits else fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise self._unusable("another process holds folder.lock. This server tries again later") from error

    def _ensure_authority(self, now: float) -> bool:
        exist = [self.path_of(name).exists() for name in ("ca.crt", "ca.key")]
        if all(exist):
            self._check_authority(now)
            return False
        if any(exist):
            raise self._unusable("only one of ca.crt and ca.key exists. Restore the other, or move both away to get new ones")
        self._write_pair("ca", authority.new_authority(now, lifetime=CA_LIFETIME))
        return True

    def _check_authority(self, now: float) -> None:
        end = certificates.not_after(self.read("ca.crt"))
        if end is None:
            raise self._unusable("ca.crt is not a certificate. Restore it, or move all files of the folder away to get new ones")
        if end <= now:
            raise self._unusable(f"ca.crt has expired. {_MOVE_AWAY}")
        self.read("ca.key")  # raises `CannotOpen` if it cannot be read
        if not certificate_checks.is_key_pair(self.path_of("ca.crt"), self.path_of("ca.key")):
            raise self._unusable(
                f"ca.crt and ca.key do not match (two servers may have created them at the same time). {_MOVE_AWAY}"
            )

    def _ensure_pair(self, name: str, subject: Subject, now: float, *, names_file: str = "") -> bool:
        names = "\n".join(subject.alternative_names).encode()
        is_same = not names_file or (self.path_of(names_file).exists() and self.read(names_file) == names)
        if is_same and self._is_valid(name, now):
            return False
        signer = KeyPair(self.read("ca.crt"), self.read("ca.key"))
        self._write_pair(name, authority.issue(signer, subject, now, lifetime=LIFETIME))
        if names_file:
            self._write(names_file, names, _PUBLIC)
        return True

    def _is_valid(self, name: str, now: float) -> bool:
        """Whether the certificate exists, matches, and has a third of its lifetime left, or more."""
        if not self.path_of(f"{name}.crt").exists() or not self.path_of(f"{name}.key").exists():
            return False
        end = certificates.not_after(self.read(f"{name}.crt"))
        self.read(f"{name}.key")
        if self._matches_authority(name):
            return end is not None and end - now > LIFETIME.total_seconds() / 3
        log.warning(
            "certificate does not match its key or ca.crt, issuing a new one",
            extra=facts(certificate=str(self.path_of(f"{name}.crt"))),
        )
        return False

    def _matches_authority(self, name: str) -> bool:
        """Whether the certificate matches its key and the authority. Files that have not changed since are not checked again."""
        paths = [self.path_of(file) for file in ("ca.crt", f"{name}.crt", f"{name}.key")]
        fingerprint = tuple((status.st_mtime_ns, status.st_ino) for status in (path.stat() for path in paths))
        if self._checked.get(name) != fingerprint:
            if not certificate_checks.is_signed_by(*paths, is_client=name == "admin"):
                return False
            self._checked[name] = fingerprint
        return True

    def _write_pair(self, name: str, pair: KeyPair) -> None:
        self._write(f"{name}.key", pair.key, _PRIVATE)
        self._write(f"{name}.crt", pair.certificate, _PUBLIC)

    def _write(self, name: str, content: bytes, mode: int) -> None:
        draft = self.path_of(f"{name}.new")
        try:
            draft.unlink(missing_ok=True)
            _create(draft, content, mode)
            draft.replace(self.path_of(name))
        except OSError as error:
            raise self._unusable(f"{name} cannot be written: {error.strerror}") from error

    def _unusable(self, reason: str) -> errors.CannotOpen:
        return errors.CannotOpen(f"the certificate folder {self._path} cannot be used: {reason}. Or name another folder with --pki")


def _create(path: Path, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)  # regardless of the umask
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
