"""Certificates of one folder match each other, even if several servers create them at once or an older version left some there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from probate.core import errors
from probate.core.clock import SystemClock
from probate.http.tls.certificate_folder import CA_LIFETIME, CertificateFolder

NAMES = ("localhost", "127.0.0.1")
NOW = SystemClock().now()
SERVERS = 8
SCRIPT = """
import pathlib, sys
from cryptography import x509
from probate.http.tls.certificate_folder import CertificateFolder
folder = CertificateFolder(pathlib.Path(sys.argv[1]))
print(flush=True)
sys.stdin.readline()
folder.ensure(("localhost", "127.0.0.1"), float(sys.argv[2]))
folder.signing_key()
"""


def public_key(key: bytes) -> object:
    private = load_pem_private_key(key, None)
    assert isinstance(private, ec.EllipticCurvePrivateKey)
    return private.public_key()


def assert_matches(folder: CertificateFolder) -> None:
    authority = x509.load_pem_x509_certificate(folder.read("ca.crt"))
    for name in ("ca", "server", "admin"):
        certificate = x509.load_pem_x509_certificate(folder.read(f"{name}.crt"))
        assert certificate.public_key() == public_key(folder.read(f"{name}.key")), f"{name}.crt does not fit its key"
        certificate.verify_directly_issued_by(authority)


@pytest.mark.parametrize("round_", range(2))
def test_servers_that_start_at_once_create_matching_certificates(quick_path: Path, round_: int) -> None:
    command = [sys.executable, "-c", SCRIPT, str(quick_path / "pki"), str(NOW + round_)]
    makers = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(SERVERS)
    ]
    for one in makers:
        assert one.stdout is not None
        one.stdout.readline()
    for one in makers:
        assert one.stdin is not None
        one.stdin.write(b"\n")
        one.stdin.flush()
    told = [one.communicate(timeout=60)[1].decode() for one in makers]
    assert [one.returncode for one in makers] == [0] * SERVERS, told
    assert_matches(CertificateFolder(quick_path / "pki"))


@pytest.fixture
def folder(quick_path: Path) -> CertificateFolder:
    """A certificate folder, and another one in `other` to mix it with."""
    for name in ("pki", "other"):
        CertificateFolder(quick_path / name).ensure(NAMES, NOW)
    return CertificateFolder(quick_path / "pki")


def mix(folder: CertificateFolder, *names: str) -> None:
    for name in names:
        shutil.copy(folder.path_of(name).parent.parent / "other" / name, folder.path_of(name))


@pytest.mark.parametrize("file", ["ca.key", "ca.crt"])
def test_authority_that_does_not_match_its_key_is_rejected(folder: CertificateFolder, file: str) -> None:
    mix(folder, file)
    with pytest.raises(errors.CannotOpen, match=r"ca.crt and ca.key do not match.*Move all files .* away"):
        folder.ensure(NAMES, NOW)


@pytest.mark.parametrize("files", [("ca.key", "ca.crt"), ("server.key", "server.crt"), ("admin.crt",), ("server.key",)])
def test_certificates_that_do_not_match_a_valid_authority_are_recreated(
    folder: CertificateFolder, caplog: pytest.LogCaptureFixture, files: tuple[str, ...]
) -> None:
    mix(folder, *files)
    assert folder.ensure(NAMES, NOW)
    assert_matches(folder)
    assert "certificate does not match" in caplog.text
    assert not folder.ensure(NAMES, NOW)


def test_expired_authority_is_rejected(folder: CertificateFolder) -> None:
    with pytest.raises(errors.CannotOpen, match=r"ca.crt has expired.*away"):
        folder.ensure(NAMES, NOW + CA_LIFETIME.total_seconds() + 1)


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 100, b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
@pytest.mark.parametrize("name", ["ca.key", "ca.crt", "service-account.key"])
def test_unreadable_key_or_certificate_is_rejected_with_a_remedy(folder: CertificateFolder, name: str, content: bytes) -> None:
    folder.signing_key()
    folder.path_of(name).write_bytes(content)
    with pytest.raises(errors.CannotOpen, match=r"away to get"):
        folder.ensure(NAMES, NOW)


@pytest.mark.parametrize("name", ["server.key", "server.crt", "admin.key", "admin.crt"])
def test_unreadable_leaf_certificate_is_recreated(folder: CertificateFolder, name: str) -> None:
    folder.path_of(name).write_bytes(b"\x00\xff" * 100)
    assert folder.ensure(NAMES, NOW)
    assert_matches(folder)
