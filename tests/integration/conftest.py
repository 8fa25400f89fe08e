"""One real server for the session, asked over HTTP; each test has a namespace of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import httpx
import pytest

from support.http_server import serving

CONTROLLERS = "collector,namespaces,definitions"
"""Nobody makes pods, or writes into the status of what the tests make."""
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with serving("--controllers", CONTROLLERS) as url:
        yield url


@pytest.fixture(scope="session")
def http(server: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=server, timeout=60) as client:
        yield client


@pytest.fixture
def namespace(http: httpx.Client) -> str:
    name = f"test-{next(_numbers)}"
    assert http.post("/api/v1/namespaces", json={"metadata": {"name": name}}).status_code == 201
    return name


@pytest.fixture
def configmaps(namespace: str) -> str:
    """Where its ConfigMaps are."""
    return f"/api/v1/namespaces/{namespace}/configmaps"
