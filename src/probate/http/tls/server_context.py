"""The TLS context of the server's handshakes. It is replaced when the certificate files change; open connections continue.

Clients may present a certificate. A certificate of an unknown authority ends the handshake. Its validity dates are checked with
each request, so that a connection does not outlive it. OpenSSL can only add authorities to a context: so when the files change, a
new context replaces the old one, and the sessions cached in the old one are gone with it.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

from probate.core import errors

NO_CHECK_TIME = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME, which Python does not export."""


class TlsFiles(NamedTuple):
    """The files with the server's certificate, its key, and the certificates of the CAs that may sign client certificates.

    The first of these CAs is the server's own: only that one signs certificates of tenants' users.
    """

    certificate: Path
    key: Path
    client_cas: tuple[Path, ...]

    @property
    def paths(self) -> tuple[Path, ...]:
        return self.certificate, self.key, *self.client_cas

    def fingerprint(self) -> tuple[tuple[int, int], ...]:
        """Returns modification times and inodes, which change when a file changes; empty if a file is missing."""
        try:
            return tuple((status.st_mtime_ns, status.st_ino) for status in (file.stat() for file in self.paths))
        except OSError:
            return ()


class ServerSslContext(ssl.SSLContext):
    """The context of one version of the files. `own_authorities` are the certificates (DER) of the server's own CA."""

    own_authorities: frozenset[bytes] = frozenset()


class TlsServerContext:
    """Holds the context for new handshakes, and replaces it when the files change."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._fingerprint: tuple[tuple[int, int], ...] = files.fingerprint()
        self.context = self._load()

    def refresh(self) -> bool:
        """Loads the files again if they have changed. Returns whether they had. Raises `CannotOpen` if they cannot be used."""
        fingerprint = self._files.fingerprint()
        if fingerprint == self._fingerprint or not fingerprint:
            return False
        self.context = self._load()
        self._fingerprint = fingerprint
        return True

    def client_ca_bundle(self) -> str:
        """Returns the certificates (PEM) of the CAs that may sign client certificates, as currently in use."""
        return "".join(ssl.DER_cert_to_PEM_cert(certificate) for certificate in self.context.get_ca_certs(binary_form=True))

    def _load(self) -> ServerSslContext:
        context = _new_context()
        try:
            context.load_cert_chain(self._files.certificate, self._files.key)
            own, *others = self._files.client_cas
            context.load_verify_locations(own)
            context.own_authorities = frozenset(context.get_ca_certs(binary_form=True))
            for file in others:
                context.load_verify_locations(file)
        except OSError as error:  # ssl.SSLError is an OSError
            paths = ", ".join(str(file) for file in self._files.paths)
            raise errors.CannotOpen(f"the TLS certificates cannot be used ({paths}): {error}. Check these files") from error
        return context


def _new_context() -> ServerSslContext:
    """Creates a context without session tickets: with one, a client could resume without its certificate being verified again."""
    context = ServerSslContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= NO_CHECK_TIME
    return context
