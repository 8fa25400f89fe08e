"""What every namespace has: a service account, and a certificate if there is one."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from probate import controllers
from probate.control.kinds import NAMESPACES
from probate.workloads import residents
from probate.workloads.residents import ACCOUNTS, CONFIG_MAPS
from stage import Stage, name_of, staged


async def accounts(stage: Stage, namespace: str) -> list[str]:
    return [name_of(one) for one in (await stage.client.list(ACCOUNTS, namespace)).items]


async def test_every_namespace_has_a_service_account() -> None:
    async with staged("serviceaccounts") as stage:
        assert await accounts(stage, "default") == ["default"]
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        assert await accounts(stage, "new") == ["default"]


async def test_service_account_that_is_deleted_comes_back() -> None:
    async with staged("serviceaccounts") as stage:
        before = await stage.get(ACCOUNTS, "default")
        await stage.delete(ACCOUNTS, "default")
        assert (await stage.get(ACCOUNTS, "default"))["metadata"]["uid"] != before["metadata"]["uid"]


async def test_service_account_does_not_come_back_in_a_namespace_that_is_deleted() -> None:
    async with staged("serviceaccounts") as stage:
        await stage.client.create(NAMESPACES, "", {"metadata": {"name": "new"}})
        await stage.settle()
        await stage.client.delete(NAMESPACES, "", "new")
        await stage.client.delete(ACCOUNTS, "new", "default")
        await stage.settle()
        assert await accounts(stage, "new") == []


@asynccontextmanager
async def certified(monkeypatch: pytest.MonkeyPatch, certificate: str) -> AsyncGenerator[Stage, None]:
    start = partial(residents.start_certificates, certificate=lambda: certificate)
    monkeypatch.setitem(controllers.THROUGH_THE_API, "certificates", start)
    async with staged("certificates") as stage:
        yield stage


async def test_every_namespace_has_the_certificate_and_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with certified(monkeypatch, "PEM") as stage:
        assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"] == {"ca.crt": "PEM"}
        await stage.change(CONFIG_MAPS, "kube-root-ca.crt", {"data": {"ca.crt": "FORGED", "more": "x"}})
        assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"] == {"ca.crt": "PEM"}
        await stage.delete(CONFIG_MAPS, "kube-root-ca.crt")
        assert (await stage.get(CONFIG_MAPS, "kube-root-ca.crt"))["data"] == {"ca.crt": "PEM"}


async def test_server_without_a_certificate_says_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async with certified(monkeypatch, "") as stage:
        assert caplog.records == []
        assert await stage.find(CONFIG_MAPS, "kube-root-ca.crt") is None


async def test_config_maps_of_other_names_are_not_kept_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    async with certified(monkeypatch, "PEM") as stage:
        tracemalloc.start()
        for number in range(50):
            await stage.client.create(CONFIG_MAPS, "default", {"metadata": {"name": f"n{number}"}, "data": {"k": "v" * 100_000}})
        await stage.settle()
        stage.cluster.events.clear()
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held < 2_000_000
