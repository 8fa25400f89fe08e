"""The server's certificates: made once, for their owner's eyes, made anew in time, and taken while it runs."""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import ssl
import threading
from pathlib import Path

import pytest

from probate.app.credentials import Secured
from probate.core import errors
from probate.core.clock import FakeClock
from probate.http.tls import authority, client_certificates
from probate.http.tls.authority import Pair, Subject
from probate.http.tls.certificate_folder import LIFETIME, Folder
from probate.http.tls.server_context import Files, Serving
from probate.lib.x509 import certificates
from probate.server.authn.verified_tokens import ShownToken
from probate.settings import Settings

NAMES = ("localhost", "127.0.0.1")
NOW = 1_900_000_000.0
DAY = 86400.0


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path / "pki")
    assert made.ensure(NAMES, NOW)
    return made


def test_keys_are_for_their_owner_only(folder: Folder) -> None:
    folder.signing_key()
    for name in ("ca.key", "server.key", "admin.key", "service-account.key"):
        assert folder.file(name).stat().st_mode & 0o777 == 0o600, name
    assert folder.file("ca.key").parent.stat().st_mode & 0o777 == 0o700


def test_what_is_there_is_used_again(folder: Folder) -> None:
    before = {name: folder.read(name) for name in ("ca.crt", "ca.key", "server.crt", "server.key", "admin.crt", "admin.key")}
    key = folder.signing_key()
    assert not folder.ensure(NAMES, NOW + DAY)
    assert {name: folder.read(name) for name in before} == before
    assert folder.signing_key() == key


def test_certificates_are_made_anew_when_a_third_of_their_time_is_left(folder: Folder) -> None:
    before, ca = folder.read("server.crt"), folder.read("ca.crt")
    assert not folder.ensure(NAMES, NOW + LIFETIME.total_seconds() * 2 / 3 - DAY)
    later = NOW + LIFETIME.total_seconds() * 2 / 3 + DAY
    assert folder.ensure(NAMES, later)
    assert folder.read("ca.crt") == ca
    end = certificates.not_after(folder.read("server.crt"))
    assert folder.read("server.crt") != before
    assert end == later + LIFETIME.total_seconds()


def test_another_name_needs_another_certificate(folder: Folder) -> None:
    assert folder.ensure((*NAMES, "api.acme.com"), NOW)
    assert not folder.ensure((*NAMES, "api.acme.com"), NOW)


@pytest.mark.parametrize("lost", ["ca.crt", "ca.key"])
def test_half_an_authority_is_not_replaced(folder: Folder, lost: str) -> None:
    folder.file(lost).unlink()
    with pytest.raises(errors.CannotOpen, match=r"only one is there.*--pki"):
        folder.ensure(NAMES, NOW)


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(errors.CannotOpen, match="--pki"):
        Folder(tmp_path / "file" / "pki").ensure(NAMES, NOW)


def files(folder: Folder) -> Files:
    return Files(folder.file("server.crt"), folder.file("server.key"), (folder.file("ca.crt"),))


def client(folder: Folder, pair: Pair | None = None, tmp: Path | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=folder.read("ca.crt").decode())
    context.verify_flags |= ssl.VerifyFlags(0x200000)  # the certificates of these tests are of another time
    if pair is not None:
        assert tmp is not None
        (tmp / "client.pem").write_bytes(pair.certificate + pair.key)
        context.load_cert_chain(tmp / "client.pem")
    return context


def shaken(
    server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost", session: ssl.SSLSession | None = None
) -> tuple[ssl.SSLObject, ssl.SSLObject]:
    """Both sides of a handshake, in memory."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = server.wrap_bio(to_server, to_client, server_side=True)
    theirs = client.wrap_bio(to_client, to_server, server_hostname=name, session=session)
    left: list[ssl.SSLObject] = [theirs, ours]
    for _ in range(10):
        for side in list(left):
            try:
                side.do_handshake()
                left.remove(side)
            except ssl.SSLWantReadError:
                pass
    assert not left
    return ours, theirs


def test_new_certificates_are_taken_without_a_restart(folder: Folder) -> None:
    serving = Serving(files(folder))
    first = shaken(serving.context, client(folder))[1].getpeercert(binary_form=True)
    assert not serving.refresh()
    folder.ensure((*NAMES, "api.acme.com"), NOW)
    assert serving.refresh()
    second = shaken(serving.context, client(folder), "api.acme.com")[1].getpeercert(binary_form=True)
    assert first != second


def test_authority_that_resumed_its_session_was_taken_for_a_user(folder: Folder, tmp_path: Path) -> None:
    serving = Serving(files(folder))
    own = client(folder, Pair(folder.read("ca.crt"), folder.read("ca.key")), tmp_path)
    own.maximum_version = ssl.TLSVersion.TLSv1_2
    first, theirs = shaken(serving.context, own)
    again, _ = shaken(serving.context, own, session=theirs.session)
    assert not client_certificates.is_resumed(first)
    assert client_certificates.is_resumed(again)
    assert client_certificates.shown_by(first) is None
    assert client_certificates.shown_by(again) is None


def test_old_versions_of_tls_are_not_spoken(folder: Folder) -> None:
    old, serving = client(folder), Serving(files(folder))
    for context in (old, serving.context):
        context.set_ciphers("DEFAULT:@SECLEVEL=0")  # so that it is not OpenSSL's own settings that refuse
    old.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises(ssl.SSLError):
        shaken(serving.context, old)


def issued(folder: Folder, subject: Subject) -> Pair:
    return authority.issue(Pair(folder.read("ca.crt"), folder.read("ca.key")), subject, NOW, lifetime=LIFETIME)


def test_a_client_may_show_a_certificate_of_our_authority(folder: Folder, tmp_path: Path) -> None:
    pair = issued(folder, Subject("ann", ("staff",)))
    ours, _ = shaken(Serving(files(folder)).context, client(folder, pair, tmp_path))
    assert ("commonName", "ann") in [pair for part in (ours.getpeercert() or {})["subject"] for pair in part]


@pytest.mark.parametrize("wrong", ["authority", "purpose"])
def test_a_client_may_not_show_another(folder: Folder, tmp_path: Path, wrong: str) -> None:
    if wrong == "authority":
        other = Folder(tmp_path / "other")
        other.ensure(NAMES, NOW)
        pair = issued(other, Subject("ann", ("system:masters",)))
    else:
        pair = Pair(folder.read("server.crt"), folder.read("server.key"))
    with pytest.raises((ssl.SSLError, AssertionError)):
        shaken(Serving(files(folder)).context, client(folder, pair, tmp_path))


def test_others_may_sign_clients_too(folder: Folder, tmp_path: Path) -> None:
    other = Folder(tmp_path / "other")
    other.ensure(NAMES, NOW)
    pair, ours = issued(other, Subject("ann")), files(folder)
    serving = Serving(ours._replace(client_cas=(*ours.client_cas, other.file("ca.crt"))))
    assert shaken(serving.context, client(folder, pair, tmp_path))


class TestSecured:
    """What a server makes of its settings."""

    async def test_a_running_server_renews_and_tells(self, tmp_path: Path) -> None:
        clock = FakeClock(NOW)
        settings = Settings(pki=str(tmp_path / "pki"), tls_name=("api.acme.com",), advertise_address="10.1.2.3")
        secured = Secured(settings, "127.0.0.1", clock)
        names = set((tmp_path / "pki" / "server.names").read_text().split())
        assert {"api.acme.com", "10.1.2.3", "kubernetes.default.svc.cluster.local"} <= names
        before, told = secured.credentials(), list[int]()
        secured.look(lambda: told.append(1))
        assert not told
        await clock.advance(LIFETIME.total_seconds() - DAY)
        secured.look(lambda: told.append(1))
        assert told == [1]
        assert secured.credentials().authority == before.authority
        assert secured.credentials().certificate != before.certificate

    def test_own_certificates(self, tmp_path: Path) -> None:
        other = Folder(tmp_path / "other")
        other.ensure(NAMES, NOW)
        given = {"tls_cert_file": str(other.file("server.crt")), "tls_private_key_file": str(other.file("server.key"))}
        secured = Secured(Settings(pki=str(tmp_path / "pki"), **given), "127.0.0.1", FakeClock(NOW))  # type: ignore[arg-type]
        assert secured.credentials().authority == other.read("server.crt")
        assert shaken(secured.serving.context, client(other))

    @pytest.mark.parametrize(
        "given",
        [
            {"tls_cert_file": "x.crt"},
            {"tls_cert_file": "x.crt", "tls_private_key_file": "x.key"},
            {"client_ca_file": "nowhere.crt"},
            {"token_file": "nowhere.csv"},
        ],
    )
    def test_settings_that_do_not_fit(self, tmp_path: Path, given: dict[str, str]) -> None:
        with pytest.raises(errors.CannotOpen):
            Secured(Settings(pki=str(tmp_path / "pki"), **given), "127.0.0.1", FakeClock(NOW))  # type: ignore[arg-type]


def test_the_authorities_in_use_are_told_and_follow_their_files(folder: Folder, tmp_path: Path) -> None:
    own, other = folder.read("ca.crt").decode(), tmp_path / "other.crt"
    other.write_text(own)
    serving = Serving(files(folder)._replace(client_cas=(folder.file("ca.crt"), other)))
    assert _bare(serving.client_authorities()) == _bare(own)
    another = Folder(tmp_path / "another")
    another.ensure(("localhost",), NOW)
    other.write_bytes(another.read("ca.crt"))
    assert serving.refresh()
    told = _bare(serving.client_authorities())
    assert _bare(own) in told
    assert _bare(another.read("ca.crt").decode()) in told


def _bare(pem: str) -> str:
    return "".join(pem.split())


@pytest.mark.parametrize("trouble", ["held", "unusable"])
def test_token_is_withdrawn_while_the_folder_of_certificates_cannot_be_used(tmp_path: Path, trouble: str) -> None:
    """Another server that holds the folder's lock, and is paused, must not stop this one either."""
    tokens, digest = tmp_path / "tokens.csv", hashlib.sha256(b"secret").hexdigest()
    tokens.write_text(f"{digest},ann,7\n")
    settings = Settings(pki=str(tmp_path / "pki"), token_file=str(tokens))
    secured = Secured(settings, "127.0.0.1", FakeClock(NOW))
    listed = secured._listed
    assert listed is not None
    tokens.write_text("# nobody\n")
    with (tmp_path / "pki" / "folder.lock").open("r+") as held:
        if trouble == "held":
            fcntl.flock(held, fcntl.LOCK_EX)
        else:
            (tmp_path / "pki" / "ca.key").unlink()
        looking = threading.Thread(target=secured.look, args=(lambda: None,), daemon=True)
        looking.start()
        looking.join(60)
        is_waiting = looking.is_alive()
    looking.join(60)
    assert not is_waiting
    assert asyncio.run(listed.verify(ShownToken("secret"))) is None
