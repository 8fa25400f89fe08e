"""Files that hold objects, tokens or keys are readable by their owner only, whatever the umask and whoever created them before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from probate.app import kubeconfig
from probate.core.clock import FakeClock
from probate.http.tls.certificate_folder import CertificateFolder
from probate.server.audit.log_file import RotatingFile, RotationLimits
from probate.store.contract import create
from probate.store.sqlite.store import open_file

UMASKS = (0o000, 0o022, 0o177, 0o777)


@pytest.fixture(params=UMASKS, ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_mode & 0o777 for file in folder.iterdir()}


@pytest.mark.usefixtures("umask")
async def test_store_files_are_not_readable_by_others(quick_path: Path) -> None:
    store = await open_file(quick_path / "probate.db")
    await store.commit(create("objects/a/1", b"x"))
    found = modes(quick_path)
    await store.close()
    names = {f"probate.db{end}" for end in ("", "-wal", "-shm", "-lock", "-watermark")}
    assert found == dict.fromkeys(names, 0o600)


async def test_store_files_that_others_can_read_are_narrowed_and_the_log_says_so(
    quick_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = await open_file(quick_path / "probate.db")
    await store.close()
    for file in quick_path.iterdir():
        file.chmod(0o644)
    quick_path.chmod(0o755)
    store = await open_file(quick_path / "probate.db")
    assert {*modes(quick_path).values()} == {0o600}
    assert quick_path.stat().st_mode & 0o777 == 0o755, "a folder that is not ours alone was changed"
    await store.close()
    assert caplog.messages.count("file permissions restricted") >= 2
    assert {record.facts["path"] for record in caplog.records if hasattr(record, "facts")} >= {str(quick_path / "probate.db")}


@pytest.mark.usefixtures("umask")
def test_keys_are_not_readable_by_others(quick_path: Path) -> None:
    folder = CertificateFolder(quick_path / "deep" / "pki")
    folder.ensure(("localhost",), 1_900_000_000.0)
    folder.signing_key()
    found = modes(quick_path / "deep" / "pki")
    keys = {"ca.key", "server.key", "admin.key", "service-account.key"}
    assert {name: mode for name, mode in found.items() if name in keys} == dict.fromkeys(keys, 0o600)
    assert modes(quick_path) == {"deep": 0o700}
    assert modes(quick_path / "deep") == {"pki": 0o700}


def test_folder_of_keys_that_others_can_read_is_narrowed(quick_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = CertificateFolder(quick_path / "pki")
    folder.ensure(("localhost",), 1_900_000_000.0)
    (quick_path / "pki").chmod(0o755)
    folder.path_of("ca.key").chmod(0o644)
    folder.ensure(("localhost",), 1_900_000_000.0)
    assert modes(quick_path) == {"pki": 0o700}
    assert modes(quick_path / "pki")["ca.key"] == 0o600
    assert caplog.messages == ["file permissions restricted"] * 2


@pytest.mark.usefixtures("umask")
def test_kubeconfig_is_not_readable_by_others(quick_path: Path) -> None:
    kubeconfig.write(quick_path / "config", "https://127.0.0.1:1", kubeconfig.Credentials(b"a", b"b", b"c"))
    assert modes(quick_path) == {"config": 0o600}


@pytest.mark.usefixtures("umask")
def test_audit_log_is_not_readable_by_others(quick_path: Path) -> None:
    log = RotatingFile(quick_path / "logs" / "audit.log", RotationLimits(), FakeClock())
    log.close()
    assert modes(quick_path) == {"logs": 0o700}
    assert modes(quick_path / "logs") == {"audit.log": 0o600}


def test_audit_logs_that_others_can_read_are_narrowed(quick_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    limits = RotationLimits(size=10)
    for _ in range(2):
        log = RotatingFile(quick_path / "audit.log", limits, FakeClock())
        log.write(b"0123456789\n")
        log.write(b"0123456789\n")
        log.close()
        found = modes(quick_path)
        assert {*found.values()} == {0o600}
        for file in quick_path.iterdir():
            file.chmod(0o640)
    assert "file permissions restricted" in caplog.messages
