"""A server that knows who asks: its certificates, its keys, whom it recognises; kept up to date while it runs.

Files are looked at once a minute: certificates that end soon are made anew, and what somebody has put in their place is taken.
"""

from __future__ import annotations

import ipaddress
import logging
import platform
from collections.abc import Callable
from pathlib import Path

from probate.app.kubeconfig import Credentials
from probate.core import errors
from probate.core.aio.offload import Offload
from probate.core.clock import Clock
from probate.http.limit_log import LimitLog
from probate.http.tls import csr_signing
from probate.http.tls.authority import Pair
from probate.http.tls.certificate_folder import Folder
from probate.http.tls.server_context import Files, Serving
from probate.kinds.certificates.signers import Wanted
from probate.server.authn import oidc
from probate.server.authn.authenticator import Recognition
from probate.server.authn.service_accounts import Accounts
from probate.server.authn.token_file import Listed
from probate.settings import Settings

LOOK_SECONDS = 60.0
_SERVICE = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
_ALWAYS = ("localhost", "127.0.0.1", "::1", *_SERVICE)

log = logging.getLogger(__name__)


class Secured:
    """What one server needs for that. `CannotOpen` says what is wrong with its settings."""

    def __init__(self, settings: Settings, host: str, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        advertised = (settings.advertise_address,) if settings.advertise_address else ()
        self._names = _names(host, (*settings.tls_name, *advertised))
        self.folder = Folder(Path(settings.pki))
        self.folder.ensure(self._names, clock.now())
        self.serving = Serving(self._files())
        self._listed = Listed(Path(settings.token_file)) if settings.token_file else None

    def recognition(self, accounts: Accounts, offload: Offload, limits: LimitLog) -> Recognition:
        """Whom the server recognises."""
        return Recognition(self._clock, accounts, listed=self._listed, oidc=self._oidc(offload, limits), limits=limits)

    def credentials(self) -> Credentials:
        """Those of who may do anything."""
        own = self._settings.tls_cert_file
        authority = Path(own).read_bytes() if own else self.folder.read("ca.crt")
        return Credentials(authority, self.folder.read("admin.crt"), self.folder.read("admin.key"))

    def signed(self, wanted: Wanted) -> bytes:
        """A client's certificate by the server's own authority. `Unfit` if it signs no such thing."""
        return csr_signing.signed(Pair(self.folder.read("ca.crt"), self.folder.read("ca.key")), wanted, self._clock.now())

    def _files(self) -> Files:
        given = (self._settings.tls_cert_file, self._settings.tls_private_key_file)
        if bool(given[0]) != bool(given[1]):
            raise errors.CannotOpen("a certificate needs its key: give both --tls-cert-file and --tls-private-key-file, or neither")
        certificate, key = (
            (Path(one) for one in given) if given[0] else (self.folder.file(f"server.{end}") for end in ("crt", "key"))
        )
        others = (Path(self._settings.client_ca_file),) if self._settings.client_ca_file else ()
        return Files(certificate, key, (self.folder.file("ca.crt"), *others))

    def _oidc(self, offload: Offload, limits: LimitLog) -> oidc.Oidc | None:
        given = self._settings
        if not given.oidc_issuer_url and not given.oidc_client_id:
            return None
        names = ("username_claim", "username_prefix", "groups_claim", "groups_prefix", "ca_file")
        more = {name: getattr(given, f"oidc_{name}") for name in names}
        issuer = oidc.Issuer(given.oidc_issuer_url, given.oidc_client_id, **more)
        waiting = min(oidc.MAX_WAITING, max(1, given.max_connections // 10))  # they hold connections, which may be few
        return oidc.Oidc(issuer, self._clock, offload, limits=limits, max_waiting=waiting)

    async def keep(self, when_renewed: Callable[[], None]) -> None:
        """Keep everything up to date. Never returns; what cannot be used is told and left as it was."""
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            self.look(when_renewed)

    def look(self, when_renewed: Callable[[], None]) -> None:
        """Bring everything up to date. What cannot be is told, and keeps nothing else from it: a token may have been withdrawn."""
        steps: tuple[Callable[[], None], ...] = (
            lambda: self._renew(when_renewed),
            self._refresh_certificates,
            self._refresh_tokens,
        )
        for one in steps:
            try:
                one()
            except (errors.CannotOpen, OSError) as error:
                log.error("certificates or tokens could not be renewed: %s", error)  # noqa: TRY400 the reason is all there is to tell

    def _renew(self, when_renewed: Callable[[], None]) -> None:
        if self.folder.ensure(self._names, self._clock.now(), waits=False):
            when_renewed()

    def _refresh_certificates(self) -> None:
        if self.serving.refresh():
            log.warning("new certificates are in use")

    def _refresh_tokens(self) -> None:
        if self._listed is not None and self._listed.refresh():
            log.warning("new tokens are in use")


def _names(host: str, more: tuple[str, ...]) -> tuple[str, ...]:
    """All names and addresses by which the server is reached, each once."""
    own = [] if _is_anywhere(host) else [host]
    return tuple(dict.fromkeys([*_ALWAYS, *own, platform.node() or "localhost", *more]))


def _is_anywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
