"""Endpoints that somebody writes, mirrored into EndpointSlices; EPS-2."""

from __future__ import annotations

from typing import Any

import pytest

from probate.controllers.workloads.endpoints.endpoint_slices import MANAGED_BY, NAME, SERVICE, SLICES
from probate.controllers.workloads.endpoints.endpoints_object import ENDPOINTS
from probate.controllers.workloads.endpoints.mirroring import LEADER, SKIP, US
from support.workload_cluster import NAMESPACE, Object, Stage, staged

SERVICES = SERVICE.resource
HTTP = {"name": "http", "port": 8080, "protocol": "TCP"}
ALL = ("endpointslices", "endpoints", "endpointmirrors")


def subset(*ips: str, away: tuple[str, ...] = (), ports: tuple[Object, ...] = (HTTP,)) -> Object:
    found: Object = {"ports": list(ports)}
    if ips:
        found["addresses"] = [{"ip": ip} for ip in ips]
    if away:
        found["notReadyAddresses"] = [{"ip": ip} for ip in away]
    return found


async def write(stage: Stage, *subsets: Object, **meta: Any) -> None:
    await stage.client.create(ENDPOINTS, NAMESPACE, {"metadata": {"name": "web", **meta}, "subsets": list(subsets)})
    await stage.settle()


async def mirrors(stage: Stage) -> list[Object]:
    return [one for one in await stage.all(SLICES) if one["metadata"]["labels"][MANAGED_BY] == US]


async def said(stage: Stage) -> dict[str, bool]:
    """Of each address, whether it is ready."""
    return {
        each["addresses"][0]: each["conditions"]["ready"] for one in await mirrors(stage) for each in one.get("endpoints") or []
    }


async def without_selector(stage: Stage) -> None:
    await stage.make(SERVICES, "web", {"ports": [{"name": "http", "port": 80}]})


async def test_eps_2_endpoints_of_a_service_without_a_selector_are_mirrored() -> None:
    async with staged(*ALL) as stage:
        await without_selector(stage)
        await write(stage, subset("10.0.0.1", "10.0.0.2", away=("10.0.0.3",)), labels={"a": "b"}, annotations={"note": "x"})
        [one] = await mirrors(stage)
        assert await said(stage) == {"10.0.0.1": True, "10.0.0.2": True, "10.0.0.3": False}
        assert (one["addressType"], one["ports"]) == ("IPv4", [HTTP])
        assert one["metadata"]["labels"] == {"a": "b", NAME: "web", MANAGED_BY: US}
        assert one["metadata"]["annotations"] == {"note": "x"}
        [owner] = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["controller"]) == ("Endpoints", "web", True)


async def test_eps_2_families_and_ports_have_slices_of_their_own() -> None:
    async with staged(*ALL) as stage:
        await without_selector(stage)
        other = {"name": "other", "port": 9090, "protocol": "UDP"}
        await write(stage, subset("10.0.0.1", "fd00::1"), subset("10.0.0.1", ports=(other,)))
        found = sorted((one["addressType"], one["ports"][0]["name"]) for one in await mirrors(stage))
        assert found == [("IPv4", "http"), ("IPv4", "other"), ("IPv6", "http")]


async def test_eps_2_mirrors_follow_and_are_put_right() -> None:
    async with staged(*ALL) as stage:
        await without_selector(stage)
        await write(stage, subset("10.0.0.1"))
        [before] = await mirrors(stage)
        await stage.change(ENDPOINTS, "web", {"subsets": [subset("10.0.0.1", "10.0.0.9")]})
        [after] = await mirrors(stage)
        assert after["metadata"]["uid"] == before["metadata"]["uid"]
        assert await said(stage) == {"10.0.0.1": True, "10.0.0.9": True}
        await stage.delete(SLICES, after["metadata"]["name"])
        assert await said(stage) == {"10.0.0.1": True, "10.0.0.9": True}


@pytest.mark.parametrize("end", ["endpoints", "service", "selector", "skip", "leader", "empty"])
async def test_eps_2_mirrors_go_when_there_is_nothing_to_mirror_any_more(end: str) -> None:
    async with staged(*ALL) as stage:
        await without_selector(stage)
        await write(stage, subset("10.0.0.1"))
        assert len(await mirrors(stage)) == 1
        if end == "endpoints":
            await stage.delete(ENDPOINTS, "web")
        elif end == "service":
            await stage.delete(SERVICES, "web")
        elif end == "selector":
            await stage.change(SERVICES, "web", {"spec": {"selector": {"app": "web"}}})
        elif end == "empty":
            await stage.change(ENDPOINTS, "web", {"subsets": None})
        else:
            meta = {"labels": {SKIP: "true"}} if end == "skip" else {"annotations": {LEADER: "me"}}
            await stage.change(ENDPOINTS, "web", {"metadata": meta})
        assert await mirrors(stage) == []


async def test_endpoints_of_a_service_with_a_selector_are_not_mirrored() -> None:
    async with staged(*ALL) as stage:
        await stage.make(SERVICES, "web", {"selector": {"app": "web"}, "ports": [{"name": "http", "port": 80}]})
        assert await mirrors(stage) == []


async def test_what_is_like_a_mirror_and_not_ours_is_left_alone() -> None:
    async with staged(*ALL) as stage:
        await without_selector(stage)
        await write(stage, subset("10.0.0.1"))
        labels = {NAME: "web", MANAGED_BY: "somebody.example.com"}
        foreign = {"metadata": {"name": "foreign", "labels": labels}, "addressType": "IPv4", "endpoints": [], "ports": []}
        await stage.client.create(SLICES, NAMESPACE, foreign)
        await stage.delete(ENDPOINTS, "web")
        assert [one["metadata"]["name"] for one in await stage.all(SLICES)] == ["foreign"]
