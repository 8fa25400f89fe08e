"""Every check of the health endpoints can fail, which fails the endpoint; only `ping` always passes."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.in_process_server import InProcessServer, running

CHECKS = ("ping", "log", "etcd", "store", "garbage-collector-controller")


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running() as opened:
        await opened.wait_until_idle()
        yield opened


async def get_lines(server: InProcessServer, path: str) -> tuple[int, list[str]]:
    response = await server.request("GET", path, query={"verbose": ""})
    return response.code, response.body.decode().splitlines()


@contextmanager
def closed_log(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


async def test_healthy_server_lists_every_check_as_passed(server: InProcessServer) -> None:
    assert await get_lines(server, "/readyz") == (200, [*(f"[+]{name} ok" for name in CHECKS), "readyz check passed"])
    assert await get_lines(server, "/livez") == (200, ["[+]ping ok", "[+]log ok", "livez check passed"])


async def test_log_check_fails_if_the_log_cannot_be_written(server: InProcessServer, tmp_path: Path) -> None:
    with closed_log(tmp_path / "log"):
        for endpoint in ("livez", "readyz", "healthz"):
            code, lines = await get_lines(server, f"/{endpoint}")
            assert (code, lines[-1]) == (500, f"{endpoint} check failed")
            assert any(line.startswith("[-]log failed: the log cannot be written: ") for line in lines)


async def test_store_and_collector_checks_fail_if_the_store_is_closed(server: InProcessServer) -> None:
    await server.store.close()
    await server.yield_to_loop()
    code, lines = await get_lines(server, "/readyz")
    assert (code, lines[-1]) == (500, "readyz check failed")
    assert [line.split()[0] for line in lines[:-1]] == [
        "[+]ping",
        "[+]log",
        "[-]etcd",
        "[-]store",
        "[-]garbage-collector-controller",
    ]
    assert (await get_lines(server, "/livez"))[0] == 200
    for name in ("etcd", "store", "garbage-collector-controller"):
        assert (await server.request("GET", f"/readyz/{name}")).code == 500


async def test_registered_check_can_fail_the_endpoint(server: InProcessServer) -> None:
    server.api.readiness_checks["some-loop"] = lambda: "its loop has ended"
    code, lines = await get_lines(server, "/healthz")
    assert (code, lines[-2:]) == (500, ["[-]some-loop failed: its loop has ended", "healthz check failed"])
