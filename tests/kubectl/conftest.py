"""A server, and a kubectl of each version. `make test` downloads them; a missing kubectl is a failure, never a skip."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.kubectl_program import Kubectl
from support.tenant_site import VIEWS, kubeconfig_of_view

VERSIONS = ("1.20", "1.24", "1.30", "1.34", "1.37")
CONTROLLERS = "collector,namespaces,definitions,tenant-controller,tenant-deletion-controller"
"""Without workload controllers the output shows only what the session itself created."""
_numbers = itertools.count(1)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kubectls() -> Path:
    folder = Path(os.environ.get("PROBATE_KUBECTLS", ROOT / ".venv" / "kubectls"))
    if not all((folder / version / "kubectl").exists() for version in VERSIONS):
        subprocess.run([sys.executable, str(ROOT / "tools" / "find-kubectls.py"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="session", params=VIEWS)
def view(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="session")
def kubeconfig(view: str, tmp_path_factory: pytest.TempPathFactory, kubectls: Path) -> Iterator[Path]:
    """The kubeconfig of an administrator, and that of a tenant's administrator."""
    options = ("--controllers", CONTROLLERS)
    with kubeconfig_of_view(view, tmp_path_factory.mktemp("server"), *options, programs=kubectls) as found:
        yield found


DEFAULT_VERSIONS = (VERSIONS[0], VERSIONS[-1])


@pytest.fixture(params=[pytest.param(each, marks=() if each in DEFAULT_VERSIONS else pytest.mark.long) for each in VERSIONS])
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves the oldest kubectl in a tenant to the long tier: the newest one and the oldest one outside are in every run."""
    for item in items:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        if params.get("view") == "tenant" and params.get("version") == VERSIONS[0]:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("homes")


@pytest.fixture
def kubectl(version: str, kubectls: Path, kubeconfig: Path, homes: Path, tmp_path: Path) -> Kubectl:
    return Kubectl(kubectls / version / "kubectl", kubeconfig, homes / version, folder=tmp_path)


@pytest.fixture
def namespace(kubectl: Kubectl, version: str) -> str:
    name = f"session-{version.replace('.', '-')}-{next(_numbers)}"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    return name
