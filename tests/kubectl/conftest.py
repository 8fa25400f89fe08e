"""A server and a kubectl of each version. `make test` fetches them; a missing one is a failure, never a skip."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

VERSIONS = ("1.20", "1.24", "1.30", "1.34", "1.37")
_numbers = itertools.count(1)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def kubectls() -> Path:
    folder = Path(os.environ.get("PROBATE_KUBECTLS", ROOT / ".venv" / "kubectls"))
    if not all((folder / version / "kubectl").exists() for version in VERSIONS):
        subprocess.run([sys.executable, str(ROOT / "tools" / "find-kubectls.py"), str(folder)], check=True)
    return folder


@pytest.fixture(scope="session")
def kubeconfig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("server")
    command = [sys.executable, "-m", "probate", "serve", "--store", "memory:", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdout is not None
        assert "serving" in process.stdout.readline()
        yield folder / "probate.kubeconfig"
        process.terminate()


@pytest.fixture(params=VERSIONS)
def kubectl(request: pytest.FixtureRequest, kubectls: Path, kubeconfig: Path, tmp_path: Path) -> Callable[..., str]:
    """Runs kubectl and gives what it printed; fails the test if it fails."""
    program = kubectls / request.param / "kubectl"
    environment = {**os.environ, "HOME": str(tmp_path), "KUBECONFIG": str(kubeconfig)}

    def run(*arguments: str, fails: bool = False, **more: str) -> str:
        done = subprocess.run(
            [program, *arguments], env=environment | more, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )
        assert (done.returncode != 0) == fails, f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return str(done.stdout + done.stderr)

    return run


@pytest.fixture
def namespace(kubectl: Callable[..., str], request: pytest.FixtureRequest) -> str:
    name = f"session-{request.node.callspec.params['kubectl'].replace('.', '-')}-{next(_numbers)}"
    assert kubectl("create", "namespace", name) == f"namespace/{name} created\n"
    return name
