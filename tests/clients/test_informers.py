"""Third-party informers continue after a server failure and after compaction of the history that they have seen."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.client_programs import Program
from support.client_sessions import NamespaceClient
from support.loopback_ports import free_port
from support.server_process import ServerProcess, run_server

HERE = Path(__file__).parent


@pytest.fixture
def server(quick_path: Path) -> Iterator[ServerProcess]:
    """A server that keeps one second of history, with a store that survives restarts."""
    options = ("--history", "1s", "--controllers", "collector,namespaces,tenant-controller")
    with run_server(quick_path, f"sqlite:{quick_path / 'probate.db'}", *options, listen=f"127.0.0.1:{free_port()}") as one:
        yield one


@pytest.fixture(params=["python", "node"])
def command(request: pytest.FixtureRequest, clients: Path, node: Path, tmp_path: Path) -> list[str]:
    if request.param == "python":
        return [str(clients / "python" / "bin" / "python"), str(HERE / "sessions" / "informer.py")]
    (tmp_path / "node_modules").symlink_to(clients / "node" / "node_modules")
    return [str(node), shutil.copy(HERE / "node" / "informer.mjs", str(tmp_path))]


@contextmanager
def running_informer(command: list[str], client: NamespaceClient, home: Path) -> Iterator[list[str]]:
    """Runs the informer. Yields the lines that it has printed so far; the list grows."""
    environment = Program(Path(command[0]), client.kubeconfig, home).environment
    lines: list[str] = []
    with subprocess.Popen([*command, client.namespace], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        listener = threading.Thread(target=lines.extend, args=((line.rstrip("\n") for line in process.stdout),))
        listener.start()
        try:
            yield lines
        finally:
            process.kill()
            listener.join()


def create(client: NamespaceClient, name: str, **labels: str) -> None:
    client.ask("POST", client.path("configmaps"), {"metadata": {"name": name, "labels": labels}})


def is_compacted(client: NamespaceClient, revision: str) -> bool:
    """Returns whether a watch from this revision fails. Writes an object, since only newer writes make a revision old."""
    path = f"{client.path('configmaps')}?watch=true&timeoutSeconds=1&labelSelector=set=followed&resourceVersion={revision}"
    create(client, f"other-{os.urandom(8).hex()}")
    return '"code":410' in client.ask("GET", path).text


def test_informer_continues_after_compaction(
    command: list[str], client: NamespaceClient, server: ServerProcess, home: Path
) -> None:
    for name in ("first", "doomed"):
        create(client, name, set="followed")
    since = client.ask("GET", client.path("configmaps")).json()["metadata"]["resourceVersion"]
    with running_informer(command, client, home / "informer") as lines:
        client.wait_until("the informer has seen what is there", lambda: {"add first", "add doomed"} <= set(lines))
        client.wait_until("what the informer has seen is forgotten", lambda: is_compacted(client, since))
        server.kill_and_restart()
        client.ask("DELETE", client.path("configmaps", "doomed"))  # it exists, as every acknowledged write does
        create(client, "late", set="followed")
        client.wait_until("the informer has seen what came and went", lambda: {"delete doomed", "add late"} <= set(lines))
    assert [line for line in lines if line.startswith("add")].count("add first") == 1
