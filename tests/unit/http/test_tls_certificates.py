"""The server's certificates: issued once, readable by their owner only, renewed in time, and replaced while the server runs."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import ssl
import threading
from pathlib import Path

import pytest

from probate.app.credentials import SecureServing
from probate.core import errors
from probate.core.clock import FakeClock
from probate.http.tls import authority, client_certificates
from probate.http.tls.authority import KeyPair, Subject
from probate.http.tls.certificate_folder import LIFETIME, CertificateFolder
from probate.http.tls.server_context import TlsFiles, TlsServerContext
from probate.lib.x509 import certificates
from probate.server.authn.verified_tokens import BearerToken
from probate.settings import Settings

NAMES = ("localhost", "127.0.0.1")
NOW = 1_900_000_000.0
DAY = 86400.0


@pytest.fixture
def folder(tmp_path: Path) -> CertificateFolder:
    folder = CertificateFolder(tmp_path / "pki")
    assert folder.ensure(NAMES, NOW)
    return folder


def test_keys_are_readable_by_their_owner_only(folder: CertificateFolder) -> None:
    folder.signing_key()
    for name in ("ca.key", "server.key", "admin.key", "service-account.key"):
        assert folder.path_of(name).stat().st_mode & 0o777 == 0o600, name
    assert folder.path_of("ca.key").parent.stat().st_mode & 0o777 == 0o700


def test_existing_files_are_reused(folder: CertificateFolder) -> None:
    before = {name: folder.read(name) for name in ("ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key")}
    key = folder.signing_key()
    assert not folder.ensure(NAMES, NOW + DAY)
    assert {name: folder.read(name) for name in before} == before
    assert folder.signing_key() == key


def test_certificates_are_renewed_when_a_third_of_their_lifetime_is_left(folder: CertificateFolder) -> None:
    before, ca = folder.read("server.crt"), folder.read("ca.crt")
    assert not folder.ensure(NAMES, NOW + LIFETIME.total_seconds() * 2 / 3 - DAY)
    later = NOW + LIFETIME.total_seconds() * 2 / 3 + DAY
    assert folder.ensure(NAMES, later)
    assert folder.read("ca.crt") == ca
    end = certificates.not_after(folder.read("server.crt"))
    assert folder.read("server.crt") != before
    assert end == later + LIFETIME.total_seconds()


def test_additional_name_renews_the_certificate(folder: CertificateFolder) -> None:
    assert folder.ensure((*NAMES, "api.acme.com"), NOW)
    assert not folder.ensure((*NAMES, "api.acme.com"), NOW)


@pytest.mark.parametrize("lost", ["ca.crt", "ca.key"])
def test_incomplete_authority_is_not_replaced(folder: CertificateFolder, lost: str) -> None:
    folder.path_of(lost).unlink()
    with pytest.raises(errors.CannotOpen, match=r"only one of ca.crt and ca.key exists.*--pki"):
        folder.ensure(NAMES, NOW)


def test_folder_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.CannotOpen, match="--pki"):
        CertificateFolder(tmp_path / "file" / "pki").ensure(NAMES, NOW)


def files(folder: CertificateFolder) -> TlsFiles:
    return TlsFiles(folder.path_of("server.crt"), folder.path_of("server.key"), (folder.path_of("ca.crt"),))


def client(folder: CertificateFolder, pair: KeyPair | None = None, tmp: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=folder.read("ca.crt").decode())
    context.verify_flags |= ssl.VerifyFlags(0x200000)  # the certificates of these tests are valid at another time
    if pair is not None:
        assert tmp is not None
        (tmp / "client.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(tmp / "client.pem")
    return context


def shake_hands(
    server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost", session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Returns both sides of a completed handshake, in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server, server_hostname=name, session=session)
    left: list[ssl.SSLObject] = [client_side, server_side]
    for _ in range(10):
        for side in list(left):
            try:
                side.do_handshake()
                left.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not left
    return server_side, client_side


def test_new_certificates_are_used_without_a_restart(folder: CertificateFolder) -> None:
    server_context = TlsServerContext(files(folder))
    first = shake_hands(server_context.context, client(folder))[1].getpeercert(binary_form=True)
    assert not server_context.refresh()
    folder.ensure((*NAMES, "api.acme.com"), NOW)
    assert server_context.refresh()
    second = shake_hands(server_context.context, client(folder), "api.acme.com")[1].getpeercert(binary_form=True)
    assert first != second


def test_authority_that_resumed_its_session_was_authenticated_as_a_user(folder: CertificateFolder, tmp_path: Path) -> None:
    server_context = TlsServerContext(files(folder))
    own = client(folder, KeyPair(folder.read("ca.crt"), folder.read("ca.key")), tmp_path)
    own.maximum_version = ssl.TLSVersion.TLSv1_2
    first, client_side = shake_hands(server_context.context, own)
    again, _ = shake_hands(server_context.context, own, session=client_side.session)
    assert not client_certificates.is_resumed(first)
    assert client_certificates.is_resumed(again)
    assert client_certificates.client_identity(first) is None
    assert client_certificates.client_identity(again) is None


def test_old_tls_versions_are_refused(folder: CertificateFolder) -> None:
    old, server_context = client(folder), TlsServerContext(files(folder))
    for context in (old, server_context.context):
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # otherwise OpenSSL's own settings refuse
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        shake_hands(server_context.context, old)


def issue(folder: CertificateFolder, subject: Subject) -> KeyPair:
    return authority.issue(KeyPair(folder.read("ca.crt"), folder.read("ca.key")), subject, NOW, lifetime=LIFETIME)


def test_client_certificate_of_the_own_authority_is_accepted(folder: CertificateFolder, tmp_path: Path) -> None:
    pair = issue(folder, Subject("ann", ("staff",)))
    server_side, _ = shake_hands(TlsServerContext(files(folder)).context, client(folder, pair, tmp_path))
    assert ("commonName", "ann") in [pair for part in (server_side.getpeercert() or {})["subject"] for pair in part]


@pytest.mark.parametrize("wrong", ["authority", "purpose"])
def test_other_client_certificates_are_refused(folder: CertificateFolder, tmp_path: Path, wrong: str) -> None:
    if wrong == "authority":
        other = CertificateFolder(tmp_path / "other")
        other.ensure(NAMES, NOW)
        pair = issue(other, Subject("ann", ("system:masters",)))
    else:
        pair = KeyPair(folder.read("server.crt"), folder.read("server.key"))
    with pytest.raises((ssl.SSLError, AssertionError)):
        shake_hands(TlsServerContext(files(folder)).context, client(folder, pair, tmp_path))


def test_additional_client_ca_may_sign_client_certificates(folder: CertificateFolder, tmp_path: Path) -> None:
    other = CertificateFolder(tmp_path / "other")
    other.ensure(NAMES, NOW)
    pair, server_side = issue(other, Subject("ann")), files(folder)
    server_context = TlsServerContext(server_side._replace(client_cas=(*server_side.client_cas, other.path_of("ca.crt"))))
    assert shake_hands(server_context.context, client(folder, pair, tmp_path))


class TestSecureServing:
    """TLS and authentication of a server, by its settings."""

    async def test_running_server_renews_certificates_and_calls_back(self, tmp_path: Path) -> None:
        clock = FakeClock(NOW)
        settings = Settings(pki=str(tmp_path / "pki"), tls_name=("api.acme.com",), advertise_address="10.1.2.3")
        secure = SecureServing(settings, "127.0.0.1", clock)
        names = set((tmp_path / "pki" / "server.names").read_text().split())
        assert {"api.acme.com", "10.1.2.3", "kubernetes.default.svc.cluster.local"} <= names
        before, renewals = secure.credentials(), list[int]()
        secure.refresh(lambda: renewals.append(1))
        assert not renewals
        await clock.advance(LIFETIME.total_seconds() - DAY)
        secure.refresh(lambda: renewals.append(1))
        assert renewals == [1]
        assert secure.credentials().authority == before.authority
        assert secure.credentials().certificate != before.certificate

    def test_own_certificates(self, tmp_path: Path) -> None:
        other = CertificateFolder(tmp_path / "other")
        other.ensure(NAMES, NOW)
        given = {"tls_cert_file": str(other.path_of("server.crt")), "tls_private_key_file": str(other.path_of("server.key"))}
        secure = SecureServing(Settings(pki=str(tmp_path / "pki"), **given), "127.0.0.1", FakeClock(NOW))  # type: ignore[arg-type]
        assert secure.credentials().authority == other.read("server.crt")
        assert shake_hands(secure.tls.context, client(other))

    @pytest.mark.parametrize(
        "given",
        [
            {"tls_cert_file": "x.crt"},
            {"tls_cert_file": "x.crt", "tls_private_key_file": "x.key"},
            {"client_ca_file": "nowhere.crt"},
            {"token_file": "nowhere.csv"},
        ],
    )
    def test_incomplete_settings_are_refused(self, tmp_path: Path, given: dict[str, str]) -> None:
        with pytest.raises(errors.CannotOpen):
            SecureServing(Settings(pki=str(tmp_path / "pki"), **given), "127.0.0.1", FakeClock(NOW))  # type: ignore[arg-type]


def test_client_ca_bundle_follows_its_files(folder: CertificateFolder, tmp_path: Path) -> None:
    own, other = folder.read("ca.crt").decode(), tmp_path / "other.crt"
    other.write_text(own)
    server_context = TlsServerContext(files(folder)._replace(client_cas=(folder.path_of("ca.crt"), other)))
    assert _without_whitespace(server_context.client_ca_bundle()) == _without_whitespace(own)
    another = CertificateFolder(tmp_path / "another")
    another.ensure(("localhost",), NOW)
    other.write_bytes(another.read("ca.crt"))
    assert server_context.refresh()
    bundle = _without_whitespace(server_context.client_ca_bundle())
    assert _without_whitespace(own) in bundle
    assert _without_whitespace(another.read("ca.crt").decode()) in bundle


def _without_whitespace(pem: str) -> str:
    return "".join(pem.split())


@pytest.mark.parametrize("obstacle", ["held", "unusable"])
def test_token_is_revoked_while_the_certificate_folder_cannot_be_used(tmp_path: Path, obstacle: str) -> None:
    """Another server that holds the folder's lock, and is paused, must not block this one either."""
    tokens, digest = tmp_path / "tokens.csv", hashlib.sha256(b"secret").hexdigest()
    tokens.write_text(f"{digest},ann,7\n")
    settings = Settings(pki=str(tmp_path / "pki"), token_file=str(tokens))
    secure = SecureServing(settings, "127.0.0.1", FakeClock(NOW))
    token_file = secure._token_file
    assert token_file is not None
    tokens.write_text("# nobody\n")
    with (tmp_path / "pki" / "folder.lock").open("r+") as held:
        if obstacle == "held":
            fcntl.flock(held, fcntl.LOCK_EX)
        else:
            (tmp_path / "pki" / "ca.key").unlink()
        refreshing = threading.Thread(target=secure.refresh, args=(lambda: None,), daemon=True)
        refreshing.start()
        refreshing.join(60)
        is_blocked = refreshing.is_alive()
    refreshing.join(60)
    assert not is_blocked
    assert asyncio.run(token_file.verify(BearerToken("secret"))) is None


@pytest.mark.parametrize("signer", ["own", "additional"])
def test_only_the_own_authority_signs_users_of_tenants(folder: CertificateFolder, tmp_path: Path, signer: str) -> None:
    """Both authorities have the same name. The additional one may sign other users."""
    other = CertificateFolder(tmp_path / "other")
    other.ensure(NAMES, NOW)
    server_side = files(folder)
    server_context = TlsServerContext(server_side._replace(client_cas=(*server_side.client_cas, other.path_of("ca.crt"))))
    signing = folder if signer == "own" else other

    def identity(subject: Subject) -> client_certificates.ClientIdentity | None:
        ours, _ = shake_hands(server_context.context, client(folder, issue(signing, subject), tmp_path))
        return client_certificates.client_identity(ours)

    of_tenant = identity(Subject("111111-admin", unit="111111", uri="tenant:one"))
    assert (None if of_tenant is None else of_tenant.user.tenant) == ("111111" if signer == "own" else None)
    of_platform = identity(Subject("ann", ("staff",)))
    assert of_platform is not None
    assert (of_platform.user.name, of_platform.user.tenant) == ("ann", "")
