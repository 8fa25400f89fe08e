"""A session with each client library: create, list, watch, patch, apply, delete, and the library's own features."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.client_programs import Program
from support.client_sessions import NamespaceClient

HERE = Path(__file__).parent
SESSIONS = sorted(path.stem.removeprefix("with_") for path in (HERE / "sessions").glob("with_*.py"))


@pytest.mark.parametrize("library", SESSIONS)
def test_python_session(library: str, clients: Path, kubeconfig: Path, home: Path, client: NamespaceClient) -> None:
    python = Program(clients / "python" / "bin" / "python", kubeconfig, home / library)
    python(HERE / "sessions" / f"with_{library}.py", client.namespace)


def test_javascript_session(
    clients: Path, node: Path, kubeconfig: Path, home: Path, client: NamespaceClient, tmp_path: Path
) -> None:
    (tmp_path / "node_modules").symlink_to(clients / "node" / "node_modules")  # where node resolves imports
    program = Program(node, kubeconfig, home / "node")
    program(shutil.copy(HERE / "node" / "session.mjs", tmp_path), client.namespace)
