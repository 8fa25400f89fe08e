"""A session with each client library that people bring: create, list, watch, patch, apply, delete, and what is its own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from support.client_programs import Program
from support.client_sessions import Look
from support.server_process import Server

HERE = Path(__file__).parent
SESSIONS = sorted(path.stem.removeprefix("with_") for path in (HERE / "sessions").glob("with_*.py"))


@pytest.mark.parametrize("library", SESSIONS)
def test_a_session_in_python(library: str, clients: Path, server: Server, homes: Path, look: Look) -> None:
    python = Program(clients / "python" / "bin" / "python", server.kubeconfig, homes / library)
    python(HERE / "sessions" / f"with_{library}.py", look.namespace)


def test_a_session_in_javascript(clients: Path, node: Path, server: Server, homes: Path, look: Look, tmp_path: Path) -> None:
    (tmp_path / "node_modules").symlink_to(clients / "node" / "node_modules")  # where it looks for what is imported
    program = Program(node, server.kubeconfig, homes / "node")
    program(shutil.copy(HERE / "node" / "session.mjs", tmp_path), look.namespace)
