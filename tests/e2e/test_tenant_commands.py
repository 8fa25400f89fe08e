"""`probate tenant …` against a server process with TLS: the life of a tenant, also while the server is killed and started again."""

from __future__ import annotations

import json
import ssl
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from probate.api.objects import Object
from probate.client.http_client import HttpClient
from probate.client.http_kubeconfig import read_access
from probate.client.objects import GroupVersionResource
from support import server_process
from support.server_process import ServerProcess
from support.stored_value_damage import SqliteFile

ID = "team-a"
MAPS = GroupVersionResource("", "v1", "configmaps")
NAMESPACES = GroupVersionResource("", "v1", "namespaces")
SECONDS = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    with server_process.run_killable_server(tmp_path, SqliteFile(tmp_path).address) as one:
        yield one


def command(server: ServerProcess, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "probate", "tenant", *arguments, "--kubeconfig", str(server.kubeconfig)]


def run(server: ServerProcess, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(server, *arguments), capture_output=True, text=True, timeout=SECONDS, check=False)


def succeed(server: ServerProcess, *arguments: str) -> str:
    """Runs a command that must succeed, and returns its output."""
    result = run(server, *arguments)
    assert result.returncode == 0, result
    return result.stdout


def client(server: ServerProcess) -> HttpClient:
    return HttpClient(read_access([server.kubeconfig]))


def namespaces(server: ServerProcess) -> list[str]:
    items: list[Object] = client(server).get(NAMESPACES.path())["items"]
    return [one["metadata"]["name"] for one in items if one["metadata"]["name"].startswith(ID)]


def test_life_of_a_tenant(server: ServerProcess) -> None:
    for _ in range(2):  # the ID is free again afterwards
        assert succeed(server, "create", ID) == f"tenant {ID} created\n"
        assert [line.split()[:2] for line in succeed(server, "list").splitlines()] == [["NAME", "PHASE"], [ID, "Active"]]
        assert namespaces(server) == [f"{ID}-{name}" for name in ("default", "kube-node-lease", "kube-public", "kube-system")]
        succeed(server, "verify", ID)
        assert succeed(server, "delete", ID, "--yes", "--wait") == f"tenant {ID} deleted\n"
        assert namespaces(server) == []
        assert json.loads(succeed(server, "verify", "--all", "-o", "json"))["findings"] == []
    assert succeed(server, "list") == ""


def test_kubeconfig_of_a_tenant(server: ServerProcess, tmp_path: Path) -> None:
    path = tmp_path / "team.kubeconfig"
    succeed(server, "create", ID, "-o", str(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    items = HttpClient(read_access([path])).get(NAMESPACES.path())["items"]
    assert {"default", "kube-system"} <= {one["metadata"]["name"] for one in items}


def test_object_that_the_index_lacks_is_found(server: ServerProcess, tmp_path: Path) -> None:
    succeed(server, "create", ID)
    server.kill()
    SqliteFile(tmp_path).run("DELETE FROM entry WHERE key LIKE 'tenant/%/namespaces/-/team-a-kube-public'")
    server.restart()
    result = run(server, "verify", ID)
    assert result.returncode == 1, result
    header, found, total = result.stdout.splitlines()
    assert (header.split(), found.split()[:2]) == (
        ["FINDING", "KEY", "MESSAGE"],
        ["MissingEntry", f"objects/namespaces/-/{ID}-kube-public"],
    )
    assert total.startswith(f"tenant {ID}: 1 found in ")


def test_wait_for_a_deletion_outlives_the_server(server: ServerProcess) -> None:
    succeed(server, "create", ID)
    path = MAPS.path(f"{ID}-default", "held")
    client(server).create(MAPS.path(f"{ID}-default"), {"metadata": {"name": "held", "finalizers": ["a.com/held"]}})
    with waiting_for_deletion(server) as waiting:
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith(f"tenant {ID}: ")
        server.kill_and_restart()
        with pytest.raises(subprocess.TimeoutExpired):
            waiting.wait(3)
        with administrator(server) as http:
            release = {"metadata": {"finalizers": None}}
            patched = http.patch(path, json=release, headers={"content-type": "application/merge-patch+json"})
            assert patched.status_code == 200, patched.text
        assert waiting.stdout is not None
        assert (waiting.wait(SECONDS), waiting.stdout.read()) == (0, f"tenant {ID} deleted\n")
    assert json.loads(succeed(server, "verify", "--all", "-o", "json"))["findings"] == []


@contextmanager
def waiting_for_deletion(server: ServerProcess) -> Iterator[subprocess.Popen[str]]:
    """Deletes the tenant in another process, which waits, and which is killed at the end if it still does."""
    arguments = command(server, "delete", ID, "--yes", "--wait")
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as waiting:
        try:
            yield waiting
        finally:
            waiting.kill()


def administrator(server: ServerProcess) -> httpx.Client:
    pki = server.kubeconfig.parent / "probate.pki"
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    return httpx.Client(base_url=server.url, verify=context, timeout=SECONDS)


def test_server_that_does_not_run_is_reported_in_one_line(server: ServerProcess) -> None:
    server.kill()
    for arguments in (("list",), ("create", ID), ("delete", ID, "--yes", "--wait"), ("kubeconfig", ID)):
        result = run(server, *arguments)
        assert (result.returncode, result.stdout) == (1, "")
        assert len(result.stderr.splitlines()) == 1
        assert f"{server.url} does not answer: Connection refused. Check that the server runs" in result.stderr
    assert run(server, "verify", ID).returncode == 2
