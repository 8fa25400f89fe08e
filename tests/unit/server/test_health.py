"""Every check that the health endpoints list can fail, and then the endpoint does. `ping` alone only says that it answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.in_process_server import House, running

PUBLIC = ("ping", "log", "etcd", "store", "collector")


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running() as one:
        await one.rest()
        yield one


async def asked(house: House, path: str) -> tuple[int, list[str]]:
    told = await house.ask("GET", path, query={"verbose": ""})
    return told.code, told.body.decode().splitlines()


@contextmanager
def closed_log(path: Path) -> Iterator[None]:
    with path.open("w") as stream:
        handler = logging.StreamHandler(stream)
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)


async def test_a_server_that_is_well_lists_every_check_as_passed(house: House) -> None:
    assert await asked(house, "/readyz") == (200, [*(f"[+]{name} ok" for name in PUBLIC), "readyz check passed"])
    assert await asked(house, "/livez") == (200, ["[+]ping ok", "[+]log ok", "livez check passed"])


async def test_the_check_of_the_log_fails_when_it_cannot_be_written(house: House, tmp_path: Path) -> None:
    with closed_log(tmp_path / "log"):
        for endpoint in ("livez", "readyz", "healthz"):
            code, told = await asked(house, f"/{endpoint}")
            assert (code, told[-1]) == (500, f"{endpoint} check failed")
            assert any(line.startswith("[-]log failed: the log cannot be written: ") for line in told)


async def test_the_checks_of_the_store_and_of_the_collector_fail_when_the_store_is_gone(house: House) -> None:
    await house.store.close()
    await house.turns()
    code, told = await asked(house, "/readyz")
    assert (code, told[-1]) == (500, "readyz check failed")
    assert [line.split()[0] for line in told[:-1]] == ["[+]ping", "[+]log", "[-]etcd", "[-]store", "[-]collector"]
    assert (await asked(house, "/livez"))[0] == 200
    for name in ("etcd", "store", "collector"):
        assert (await house.ask("GET", f"/readyz/{name}")).code == 500


async def test_a_check_that_is_added_can_fail_like_the_others(house: House) -> None:
    house.api.readiness["some-loop"] = lambda: "its loop has ended"
    code, told = await asked(house, "/healthz")
    assert (code, told[-2:]) == (500, ["[-]some-loop failed: its loop has ended", "healthz check failed"])
