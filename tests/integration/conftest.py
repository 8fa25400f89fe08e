"""One real server for the session, asked over HTTP; each test has a namespace of its own."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    command = [sys.executable, "-m", "probate", "serve", "--store", "memory:", "--listen", "127.0.0.1:0", "--kubeconfig", ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent) as process:
        assert process.stdout is not None
        greeting = re.search(r"http://\S+", process.stdout.readline())
        assert greeting is not None
        yield greeting[0]
        process.terminate()
        assert process.wait(timeout=20) == 0


@pytest.fixture(scope="session")
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=30) as client:
        yield client


@pytest.fixture
def namespace(http: httpx.Client) -> str:
    name = f"test-{next(_numbers)}"
    assert http.post("/api/v1/namespaces", json={"metadata": {"name": name}}).status_code == 201
    return name
