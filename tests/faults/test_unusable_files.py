"""Unusable files named by options: the server exits with one line that names the file and says what to do."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from probate.app import assembly
from probate.core import errors
from probate.core.clock import SystemClock
from probate.settings import Settings
from probate.store.sqlite.store import open_file

BINARY = bytes(range(256)) * 20


def missing(_path: Path) -> None:
    """Leaves the path missing."""


def folder(path: Path) -> None:
    path.mkdir()


def empty(path: Path) -> None:
    path.touch()


def binary(path: Path) -> None:
    path.write_bytes(BINARY)


def in_missing_folder(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere" / "thing")


def link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def below_a_file(path: Path) -> None:
    """Makes the parent folder a file."""
    path.parent.rmdir()
    path.parent.touch()


OPTIONS: dict[str, tuple[Callable[[str], dict[str, Any]], tuple[Callable[[Path], None], ...]]] = {
    "--store": (lambda path: {"store": f"sqlite:{path}"}, (folder, binary, in_missing_folder, link_to_itself, below_a_file)),
    "--token-file": (lambda path: {"token_file": path}, (missing, folder, binary, link_to_itself, below_a_file)),
    "--client-ca-file": (lambda path: {"client_ca_file": path}, (missing, folder, empty, binary, link_to_itself)),
    "--tls-cert-file": (
        lambda path: {"tls_cert_file": path, "tls_private_key_file": path},
        (missing, folder, empty, binary, link_to_itself),
    ),
    "--audit-log-path": (lambda path: {"audit_log_path": path}, (folder, link_to_itself, below_a_file)),
    "--audit-policy-file": (
        lambda path: {"audit_policy_file": path, "audit_log_path": "-"},
        (missing, folder, empty, binary, link_to_itself),
    ),
    "--root-ca-file": (lambda path: {"root_ca_file": path}, (missing, folder, empty, binary, link_to_itself)),
    "--oidc-ca-file": (
        lambda path: {"oidc_ca_file": path, "oidc_issuer_url": "https://127.0.0.1:1", "oidc_client_id": "x"},
        (missing, folder, empty, binary, link_to_itself),
    ),
    "--pki": (lambda path: {"pki": path}, (empty, binary, link_to_itself, below_a_file)),
    "--kubeconfig": (lambda path: {"kubeconfig": path}, (folder, below_a_file)),
}


@pytest.mark.parametrize(("option", "make"), [(option, make) for option, (_, makes) in OPTIONS.items() for make in makes])
async def test_unusable_file_is_rejected_by_name(
    quick_path: Path, monkeypatch: pytest.MonkeyPatch, option: str, make: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(quick_path)
    path = quick_path / "in" / "thing"
    path.parent.mkdir()
    make(path)
    given = {"store": "memory:", "listen": "127.0.0.1:0", "kubeconfig": "", "controllers": "none", **OPTIONS[option][0](str(path))}
    with pytest.raises(errors.CannotOpen) as refused:
        await asyncio.wait_for(assembly._serve(Settings(**given), SystemClock(), began=0.0), 20)
    assert "thing" in str(refused.value), "the message does not name the file"
    assert "\n" not in str(refused.value)


AS_NOBODY = """
import os, pwd, sys
import probate.app.assembly, probate.app.startup, probate.app.store_check, probate.cli.main, probate.store.sqlite.store
from probate.__main__ import main
nobody = pwd.getpwnam("nobody")
os.setgroups([])
os.setgid(nobody.pw_gid)
os.setuid(nobody.pw_uid)
sys.argv = ["probate", "serve", "--insecure", "--listen", "127.0.0.1:0", "--kubeconfig", "", "--store", sys.argv[1]]
main()
"""
"""Runs the command as the user nobody, who may not use the files. Loads all modules before, which nobody may not read either."""
STORES = {
    "may not be read": (0o777, 0o600),
    "may not be written": (0o777, 0o444),
    "is in a folder that may not be entered": (0o700, 0o644),
    "is in a folder that may not be written to": (0o755, 0o666),
}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch to another user")
@pytest.mark.parametrize("store", STORES)
async def test_store_without_permission_ends_in_one_line(quick_path: Path, store: str) -> None:
    path = quick_path / "in" / "probate.db"
    path.parent.mkdir()
    await (await open_file(path)).close()
    of_folder, of_file = STORES[store]
    quick_path.chmod(0o755)
    path.with_name("probate.db-lock").unlink()
    path.parent.chmod(of_folder)
    path.chmod(of_file)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", AS_NOBODY, f"sqlite:{path}"), cwd=quick_path, stderr=asyncio.subprocess.PIPE
    )
    _, told = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 1
    assert told.decode().startswith("probate: ")
    assert told.count(b"\n") == 1, told.decode()
    assert b"probate.db" in told
