"""The server's side of a handshake. New certificates are taken while connections go on: the next handshake uses them.

Clients may show a certificate. One that another authority signed ends the handshake; when it begins and ends is looked at with each
request, so that a connection does not outlive it. OpenSSL only ever adds to the authorities that a context has: so when their files
change there is another context, and what was remembered of sessions with the former one is gone with it.
"""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import NamedTuple

from probate.core import errors

NO_CHECK_TIME = 0x200000
"""OpenSSL's flag for it, which Python has no name for."""


class Files(NamedTuple):
    """Where the server's certificate is, its key, and the certificates of those who may sign clients' ones."""

    certificate: Path
    key: Path
    client_cas: tuple[Path, ...]

    @property
    def all(self) -> tuple[Path, ...]:
        return self.certificate, self.key, *self.client_cas

    def stamp(self) -> tuple[tuple[int, int], ...]:
        """Something that is another when one of them is another."""
        try:
            return tuple((found.st_mtime_ns, found.st_ino) for found in (file.stat() for file in self.all))
        except OSError:
            return ()


class Serving:
    """The context of those who connect now. It is another one after the files have changed."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._stamp: tuple[tuple[int, int], ...] = files.stamp()
        self.context = self._loaded()

    def refresh(self) -> bool:
        """Take the files as they are now, if they have changed. Returns whether. `CannotOpen` if they cannot be used."""
        stamp = self._files.stamp()
        if stamp == self._stamp or not stamp:
            return False
        self.context = self._loaded()
        self._stamp = stamp
        return True

    def client_authorities(self) -> str:
        """The certificates (PEM) of those who may sign clients' ones, as they are in use now."""
        return "".join(ssl.DER_cert_to_PEM_cert(one) for one in self.context.get_ca_certs(binary_form=True))

    def _loaded(self) -> ssl.SSLContext:
        context = _new()
        try:
            context.load_cert_chain(self._files.certificate, self._files.key)
            for file in self._files.client_cas:
                context.load_verify_locations(file)
        except OSError as error:  # ssl.SSLError is one
            listed = ", ".join(str(file) for file in self._files.all)
            raise errors.CannotOpen(f"the certificates cannot be used ({listed}): {error}") from error
        return context


def _new() -> ssl.SSLContext:
    """A ticket would let a client go on with a certificate that nobody looks at again: there are none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    context.set_alpn_protocols(["http/1.1"])
    context.verify_mode = ssl.CERT_OPTIONAL
    context.verify_flags |= NO_CHECK_TIME
    return context
