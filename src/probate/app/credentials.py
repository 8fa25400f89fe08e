"""TLS and authentication of a server: its certificates, its keys, the tokens and certificates that it accepts.

Once a minute, certificates that expire soon are renewed, files that were replaced are loaded, and the keys of an issuer are fetched
that will soon be outdated.
"""

from __future__ import annotations

import ipaddress
import logging
import platform
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from probate.api import tenants
from probate.app import kubeconfig
from probate.app.kubeconfig import Credentials
from probate.core import errors
from probate.core.aio.offload import Offload
from probate.core.clock import Clock
from probate.core.logs import facts
from probate.http.limit_log import LimitLog
from probate.http.tls import authority, csr_signer
from probate.http.tls.authority import KeyPair, Subject
from probate.http.tls.certificate_folder import CertificateFolder
from probate.http.tls.client_certificates import TENANT_URI
from probate.http.tls.server_context import TlsFiles, TlsServerContext
from probate.kinds.certificates.signers import RequestedCertificate
from probate.lib.x509 import certificates
from probate.server.authn import oidc
from probate.server.authn.authenticator import RequestAuthenticator
from probate.server.authn.service_accounts import TokenIssuer
from probate.server.authn.tenant_credentials import IssuedKubeconfig, TenantUser
from probate.server.authn.token_file import TokenFile
from probate.settings import Settings

REFRESH_SECONDS = 60.0
_SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
_DEFAULT_NAMES = ("localhost", "127.0.0.1", "::1", *_SERVICE_NAMES)

log = logging.getLogger(__name__)


class SecureServing:
    """The certificates, keys and token file of one server. Raises `CannotOpen` if its settings cannot be used."""

    def __init__(self, settings: Settings, host: str, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        advertised = (settings.advertise_address,) if settings.advertise_address else ()
        self._names = _alternative_names(host, (*settings.tls_name, *advertised))
        self.folder = CertificateFolder(Path(settings.pki))
        self.folder.ensure(self._names, clock.now())
        self.tls = TlsServerContext(self._files())
        self._token_file = TokenFile(Path(settings.token_file)) if settings.token_file else None
        self._oidc: oidc.OidcVerifier | None = None

    def authenticator(self, accounts: TokenIssuer, offload: Offload, limits: LimitLog) -> RequestAuthenticator:
        """Returns the authenticator of requests."""
        self._oidc = self._oidc_verifier(offload, limits)
        return RequestAuthenticator(self._clock, accounts, token_file=self._token_file, oidc=self._oidc, limits=limits)

    def credentials(self) -> Credentials:
        """Returns the administrator's credentials, and the certificate to verify the server with."""
        return Credentials(self._server_authority(), self.folder.read("admin.crt"), self.folder.read("admin.key"))

    def _server_authority(self) -> bytes:
        own_certificate = self._settings.tls_cert_file
        return Path(own_certificate).read_bytes() if own_certificate else self.folder.read("ca.crt")

    def sign(self, order: RequestedCertificate) -> bytes:
        """Returns a client certificate signed by the server's own authority. Raises `CannotSign` if that is not possible."""
        return csr_signer.sign(self._signer(), order, self._clock.now())

    def issue_kubeconfig(self, url: str, user: TenantUser, seconds: int) -> IssuedKubeconfig:
        """Returns a kubeconfig for a user of a tenant, with a new key, and a certificate that does not outlast the authority."""
        signer, now = self._signer(), float(int(self._clock.now()))
        end = certificates.not_after(signer.certificate) or now
        lifetime = min(float(seconds), end - now)
        name = tenants.prefix_of(user.tenant) + user.name
        subject = Subject(name, user.groups, unit=user.tenant, uri=TENANT_URI + user.tenant_uid)
        pair = authority.issue(signer, subject, now, lifetime=timedelta(seconds=lifetime))
        credentials = Credentials(self._server_authority(), pair.certificate, pair.key)
        address = url + tenants.path_of(user.tenant)
        return IssuedKubeconfig(kubeconfig.text(address, credentials, name=f"tenant-{user.tenant}"), now + lifetime)

    def _signer(self) -> KeyPair:
        return KeyPair(self.folder.read("ca.crt"), self.folder.read("ca.key"))

    def _files(self) -> TlsFiles:
        options = (self._settings.tls_cert_file, self._settings.tls_private_key_file)
        if bool(options[0]) != bool(options[1]):
            raise errors.CannotOpen("a certificate needs its key: give both --tls-cert-file and --tls-private-key-file, or neither")
        if options[0]:
            certificate, key = Path(options[0]), Path(options[1])
        else:
            certificate, key = self.folder.path_of("server.crt"), self.folder.path_of("server.key")
        client_cas = (Path(self._settings.client_ca_file),) if self._settings.client_ca_file else ()
        return TlsFiles(certificate, key, (self.folder.path_of("ca.crt"), *client_cas))

    def _oidc_verifier(self, offload: Offload, limits: LimitLog) -> oidc.OidcVerifier | None:
        settings = self._settings
        if not settings.oidc_issuer_url and not settings.oidc_client_id:
            return None
        issuer = oidc.Issuer(
            settings.oidc_issuer_url,
            settings.oidc_client_id,
            username_claim=settings.oidc_username_claim,
            username_prefix=settings.oidc_username_prefix,
            groups_claim=settings.oidc_groups_claim,
            groups_prefix=settings.oidc_groups_prefix,
            ca_file=settings.oidc_ca_file,
        )
        max_waiting = min(oidc.MAX_WAITING, max(1, settings.max_connections // 10))  # waiting requests hold connections
        return oidc.OidcVerifier(issuer, self._clock, offload, limits=limits, max_waiting=max_waiting)

    async def run(self, on_renewal: Callable[[], None]) -> None:
        """Refreshes everything once a minute. Never returns."""
        while True:
            await self._clock.sleep(REFRESH_SECONDS)
            self.refresh(on_renewal)

    def refresh(self, on_renewal: Callable[[], None]) -> None:
        """Renews certificates and loads changed files. Logs each failure and continues: a token may have been revoked."""
        steps: tuple[Callable[[], None], ...] = (
            lambda: self._renew(on_renewal),
            self._refresh_certificates,
            self._refresh_tokens,
            self._refresh_issuer_keys,
        )
        for step in steps:
            try:
                step()
            except (errors.CannotOpen, OSError) as error:
                log.error("certificates or tokens cannot be refreshed", extra=facts(error=str(error)))  # noqa: TRY400

    def _renew(self, on_renewal: Callable[[], None]) -> None:
        if self.folder.ensure(self._names, self._clock.now(), waits=False):
            on_renewal()

    def _refresh_certificates(self) -> None:
        if self.tls.refresh():
            log.warning("changed certificates loaded")

    def _refresh_tokens(self) -> None:
        if self._token_file is not None and self._token_file.refresh():
            log.warning("changed token file loaded")

    def _refresh_issuer_keys(self) -> None:
        if self._oidc is not None:
            self._oidc.refresh()


def _alternative_names(host: str, additional: tuple[str, ...]) -> tuple[str, ...]:
    """Returns all names and addresses of the server, each once."""
    own = [] if _is_unspecified(host) else [host]
    return tuple(dict.fromkeys([*_DEFAULT_NAMES, *own, platform.node() or "localhost", *additional]))


def _is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
