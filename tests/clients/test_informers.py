"""Informers of others go on after the server has failed, and after it has forgotten what they last saw."""

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
from support.client_sessions import Look
from support.loopback_ports import free_port
from support.server_process import Server, serving

HERE = Path(__file__).parent


@pytest.fixture
def server(quick_path: Path) -> Iterator[Server]:
    """It remembers a second, and only its store outlives it."""
    options = ("--history", "1s", "--controllers", "collector,namespaces")
    with serving(quick_path, f"sqlite:{quick_path / 'probate.db'}", *options, listen=f"127.0.0.1:{free_port()}") as one:
        yield one


@pytest.fixture(params=["python", "node"])
def command(request: pytest.FixtureRequest, clients: Path, node: Path, tmp_path: Path) -> list[str]:
    if request.param == "python":
        return [str(clients / "python" / "bin" / "python"), str(HERE / "sessions" / "informer.py")]
    (tmp_path / "node_modules").symlink_to(clients / "node" / "node_modules")
    return [str(node), shutil.copy(HERE / "node" / "informer.mjs", str(tmp_path))]


@contextmanager
def following(command: list[str], look: Look, server: Server, home: Path) -> Iterator[list[str]]:
    """What the informer has told so far; it grows while it tells more."""
    environment = Program(Path(command[0]), server.kubeconfig, home).environment
    told: list[str] = []
    with subprocess.Popen([*command, look.namespace], env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        listener = threading.Thread(target=told.extend, args=((line.rstrip("\n") for line in process.stdout),))
        listener.start()
        try:
            yield told
        finally:
            process.kill()
            listener.join()


def create(look: Look, name: str, **labels: str) -> None:
    look.ask("POST", look.path("configmaps"), {"metadata": {"name": name, "labels": labels}})


def is_forgotten(look: Look, revision: str) -> bool:
    """Whether nobody can watch from there any more. There has to be something new for it to become old."""
    path = f"{look.path('configmaps')}?watch=true&timeoutSeconds=1&labelSelector=set=followed&resourceVersion={revision}"
    create(look, f"other-{os.urandom(8).hex()}")
    return '"code":410' in look.ask("GET", path).text


def test_an_informer_goes_on_when_its_place_is_forgotten(command: list[str], look: Look, server: Server, homes: Path) -> None:
    for name in ("first", "doomed"):
        create(look, name, set="followed")
    since = look.ask("GET", look.path("configmaps")).json()["metadata"]["resourceVersion"]
    with following(command, look, server, homes / "informer") as told:
        look.until("the informer has seen what is there", lambda: {"add first", "add doomed"} <= set(told))
        look.until("what the informer has seen is forgotten", lambda: is_forgotten(look, since))
        server.kill_and_start_again()
        look.ask("DELETE", look.path("configmaps", "doomed"))  # it is there, as all that was acknowledged
        create(look, "late", set="followed")
        look.until("the informer has seen what came and went", lambda: {"delete doomed", "add late"} <= set(told))
    assert [line for line in told if line.startswith("add")].count("add first") == 1
