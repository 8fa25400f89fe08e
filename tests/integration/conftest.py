"""One real server for the session, used over HTTP. Each test has its own namespace."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import httpx
import pytest

from support.http_server import memory_server_url

CONTROLLERS = "collector,namespaces,definitions"
"""No workload controllers: nothing creates pods or updates the status of objects that the tests create."""
_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with memory_server_url("--controllers", CONTROLLERS) as url:
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
    """The path of the ConfigMaps in the test's namespace."""
    return f"/api/v1/namespaces/{namespace}/configmaps"
