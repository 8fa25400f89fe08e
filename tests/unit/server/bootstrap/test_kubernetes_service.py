"""The server as a Service of its own cluster."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from probate.core import errors
from probate.server.bootstrap import kubernetes_service
from support.in_process_server import House, running

PLACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def found(house: House, path: str) -> Any:
    told = await house.ask("GET", f"{path}/kubernetes")
    assert told.code == 200, told.body
    return told.json


async def test_it_is_there_at_the_first_address_and_tells_where_the_server_is() -> None:
    async with running(collects=False) as house:
        await kubernetes_service.ensure(house.api, "10.1.2.3", 6443)
        service = await found(house, f"{PLACE}/services")
        assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
        assert service["spec"]["clusterIP"] == "10.96.0.1"
        assert service["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]
        slice_ = await found(house, SLICES)
        assert (slice_["addressType"], slice_["endpoints"]) == (
            "IPv4",
            [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
        )
        assert slice_["ports"] == [{"name": "https", "protocol": "TCP", "port": 6443}]
        endpoints = await found(house, f"{PLACE}/endpoints")
        assert endpoints["subsets"][0]["addresses"] == [{"ip": "10.1.2.3"}]
        assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])  # noqa: S104
async def test_an_address_that_leads_others_nowhere_is_not_told(host: str, caplog: pytest.LogCaptureFixture) -> None:
    async with running(collects=False) as house:
        await kubernetes_service.ensure(house.api, host, 8080)
        assert not (await found(house, SLICES)).get("endpoints")
        assert not (await found(house, f"{PLACE}/endpoints")).get("subsets")
        assert caplog.records == []


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "api.acme.com", "10.1.2.3:6443", "169.254.1.1"])  # noqa: S104
def test_address_that_leads_others_nowhere_is_refused_at_the_start(address: str) -> None:
    with pytest.raises(errors.CannotOpen, match="--advertise-address"):
        kubernetes_service.check(address)


@pytest.mark.parametrize("address", ["", "10.1.2.3", "fd00::1"])
def test_address_that_others_reach_is_good(address: str) -> None:
    kubernetes_service.check(address)


async def test_a_server_that_is_somewhere_else_now_says_so_and_else_nothing_is_written() -> None:
    async with running(collects=False) as house:
        await kubernetes_service.ensure(house.api, "10.1.2.3", 6443)
        before = await house.store.revision()
        await kubernetes_service.ensure(house.api, "10.1.2.3", 6443)
        assert await house.store.revision() == before
        address = (await found(house, f"{PLACE}/services"))["spec"]["clusterIP"]
        await kubernetes_service.ensure(house.api, "10.1.2.4", 7443)
        service = await found(house, f"{PLACE}/services")
        assert (service["spec"]["clusterIP"], service["spec"]["ports"][0]["targetPort"]) == (address, 7443)
        assert (await found(house, SLICES))["endpoints"][0]["addresses"] == ["10.1.2.4"]
        assert (await found(house, f"{PLACE}/endpoints"))["subsets"][0]["ports"][0]["port"] == 7443


async def test_an_address_that_somebody_has_is_left_to_them() -> None:
    async with running(collects=False) as house:
        spec = {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]}
        await house.create("services", "default", {"metadata": {"name": "early"}, "spec": spec})
        await kubernetes_service.ensure(house.api, "10.1.2.3", 6443)
        assert (await found(house, f"{PLACE}/services"))["spec"]["clusterIP"] not in {"10.96.0.1", ""}


async def test_a_server_that_cannot_say_where_it_is_starts_all_the_same(caplog: pytest.LogCaptureFixture) -> None:
    async with running(collects=False) as house:
        await kubernetes_service.ensure(house.api, "10.1.2.3", 6443)
        with caplog.at_level(logging.WARNING):
            await kubernetes_service.ensure(house.api, "fd00::1", 6443)  # the slice is of the other family
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert (await found(house, f"{PLACE}/endpoints"))["subsets"][0]["addresses"] == [{"ip": "fd00::1"}]
