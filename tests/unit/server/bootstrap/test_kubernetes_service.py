"""The Service `kubernetes` and its endpoints."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from probate.core import errors
from probate.server.bootstrap import kubernetes_service
from support import bootstrap
from support.in_process_server import InProcessServer, running

PLACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


async def result(server: InProcessServer, path: str) -> Any:
    response = await server.request("GET", f"{path}/kubernetes")
    assert response.code == 200, response.body
    return response.json


async def test_service_has_the_first_address_and_the_servers_endpoint() -> None:
    async with running(collects=False) as server:
        await bootstrap.publish_service(server.api, "10.1.2.3", 6443)
        service = await result(server, f"{PLACE}/services")
        assert service["metadata"]["labels"] == {"component": "apiserver", "provider": "kubernetes"}
        assert service["spec"]["clusterIP"] == "10.96.0.1"
        assert service["spec"]["ports"] == [{"name": "https", "protocol": "TCP", "port": 443, "targetPort": 6443}]
        slice_ = await result(server, SLICES)
        assert (slice_["addressType"], slice_["endpoints"]) == (
            "IPv4",
            [{"addresses": ["10.1.2.3"], "conditions": {"ready": True}}],
        )
        assert slice_["ports"] == [{"name": "https", "protocol": "TCP", "port": 6443}]
        endpoints = await result(server, f"{PLACE}/endpoints")
        assert endpoints["subsets"][0]["addresses"] == [{"ip": "10.1.2.3"}]
        assert endpoints["metadata"]["labels"] == {"endpointslice.kubernetes.io/skip-mirror": "true"}


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "0.0.0.0"])  # noqa: S104
async def test_unreachable_address_is_not_published(host: str, caplog: pytest.LogCaptureFixture) -> None:
    async with running(collects=False) as server:
        await bootstrap.publish_service(server.api, host, 8080)
        assert not (await result(server, SLICES)).get("endpoints")
        assert not (await result(server, f"{PLACE}/endpoints")).get("subsets")
        assert caplog.records == []


@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0", "api.acme.com", "10.1.2.3:6443", "169.254.1.1"])  # noqa: S104
def test_unreachable_advertise_address_is_refused(address: str) -> None:
    with pytest.raises(errors.CannotOpen, match="--advertise-address"):
        kubernetes_service.check(address)


@pytest.mark.parametrize("address", ["", "10.1.2.3", "fd00::1"])
def test_reachable_advertise_address_is_accepted(address: str) -> None:
    kubernetes_service.check(address)


async def test_only_a_changed_address_is_written() -> None:
    async with running(collects=False) as server:
        await bootstrap.publish_service(server.api, "10.1.2.3", 6443)
        before = await server.store.revision()
        await bootstrap.publish_service(server.api, "10.1.2.3", 6443)
        assert await server.store.revision() == before
        address = (await result(server, f"{PLACE}/services"))["spec"]["clusterIP"]
        await bootstrap.publish_service(server.api, "10.1.2.4", 7443)
        service = await result(server, f"{PLACE}/services")
        assert (service["spec"]["clusterIP"], service["spec"]["ports"][0]["targetPort"]) == (address, 7443)
        assert (await result(server, SLICES))["endpoints"][0]["addresses"] == ["10.1.2.4"]
        assert (await result(server, f"{PLACE}/endpoints"))["subsets"][0]["ports"][0]["port"] == 7443


async def test_first_address_in_use_is_left_alone() -> None:
    async with running(collects=False) as server:
        spec = {"clusterIP": "10.96.0.1", "ports": [{"port": 80}]}
        await server.create("services", "default", {"metadata": {"name": "early"}, "spec": spec})
        await bootstrap.publish_service(server.api, "10.1.2.3", 6443)
        assert (await result(server, f"{PLACE}/services"))["spec"]["clusterIP"] not in {"10.96.0.1", ""}


async def test_failure_to_publish_does_not_stop_the_start(caplog: pytest.LogCaptureFixture) -> None:
    async with running(collects=False) as server:
        await bootstrap.publish_service(server.api, "10.1.2.3", 6443)
        with caplog.at_level(logging.WARNING):
            await bootstrap.publish_service(server.api, "fd00::1", 6443)  # the slice is of the other family
        assert [record.levelname for record in caplog.records] == ["WARNING"]
        assert (await result(server, f"{PLACE}/endpoints"))["subsets"][0]["addresses"] == [{"ip": "fd00::1"}]
