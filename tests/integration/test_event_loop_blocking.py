"""Admission of a large object makes almost no calls on the event loop.

The measure is the number of Python calls that the loop's own thread makes, so it is the same on every machine.
"""

from __future__ import annotations

import cProfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.core.aio.offload import WorkerPool
from support.in_process_server import InProcessServer, running

CONTAINERS, RULES = 300, 1_500
MOST_CALLS = 8_000
"""Calls on the event loop for a pod or an Ingress of this size. Decoding and defaulting one container takes hundreds."""
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(offload=WorkerPool("large"), admission=["ServiceAccount"]) as one:
        await one.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
        yield one


def large_pod() -> Any:
    resources = {"requests": {"cpu": "1m", "memory": "1Ki"}, "limits": {"cpu": "2m", "memory": "2Ki"}}
    one = {"image": "i", "resources": resources}
    return {"metadata": {"name": "large"}, "spec": {"containers": [{"name": f"c{n}", **one} for n in range(CONTAINERS)]}}


async def calls_of(server: InProcessServer, pod: Any) -> int:
    """Returns the number of calls that the event loop's thread makes while the pod is created."""
    profile = cProfile.Profile()
    profile.enable()
    response = await server.request("POST", PODS, pod)
    profile.disable()
    assert response.code == 201, response.body[:500]
    return sum(one.callcount for one in profile.getstats())


async def test_service_account_of_a_large_pod_was_set_on_the_event_loop(server: InProcessServer) -> None:
    assert await calls_of(server, large_pod()) < MOST_CALLS


async def test_limits_of_a_large_pod_were_set_on_the_event_loop(server: InProcessServer) -> None:
    limit = {"type": "Container", "default": {"ephemeral-storage": "1Gi"}, "max": {"cpu": "2"}}
    await server.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    pod = large_pod()
    for one in pod["spec"]["containers"][1:]:
        one["resources"]["limits"]["ephemeral-storage"] = "1Gi"  # so that the note of what was filled is not too long
    assert await calls_of(server, pod) < MOST_CALLS


async def test_default_ingress_class_was_set_on_the_event_loop(server: InProcessServer) -> None:
    note = {"ingressclass.kubernetes.io/is-default-class": "true"}
    class_ = {"metadata": {"name": "c", "annotations": note}, "spec": {"controller": "example.com/c"}}
    await server.create("apis/networking.k8s.io/v1/ingressclasses", "", class_)
    rules = [{"host": f"h{n}.example.com"} for n in range(RULES)]
    profile = cProfile.Profile()
    profile.enable()
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    response = await server.request("POST", path, {"metadata": {"name": "large"}, "spec": {"rules": rules}})
    profile.disable()
    assert response.json["spec"]["ingressClassName"] == "c"
    assert sum(one.callcount for one in profile.getstats()) < MOST_CALLS
