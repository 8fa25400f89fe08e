"""What is large is not worked on where everybody waits: admission of a large object makes next to no calls on the event loop.

The measure is the number of Python calls that the loop's own thread makes, so it is the same on every machine.
"""

from __future__ import annotations

import cProfile
from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.core.aio.offload import Pool
from support.in_process_server import House, running

CONTAINERS, RULES = 300, 1_500
MOST_CALLS = 8_000
"""On the loop, for a pod of so many containers or an Ingress of so many rules. To read and default a container takes hundreds."""
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(offload=Pool("large"), admission=["ServiceAccount"]) as one:
        await one.create("serviceaccounts", "default", {"metadata": {"name": "default"}})
        yield one


def large_pod() -> Any:
    resources = {"requests": {"cpu": "1m", "memory": "1Ki"}, "limits": {"cpu": "2m", "memory": "2Ki"}}
    one = {"image": "i", "resources": resources}
    return {"metadata": {"name": "large"}, "spec": {"containers": [{"name": f"c{n}", **one} for n in range(CONTAINERS)]}}


async def calls_of(house: House, pod: Any) -> int:
    """How many calls the loop's thread makes while the pod is created."""
    profile = cProfile.Profile()
    profile.enable()
    told = await house.ask("POST", PODS, pod)
    profile.disable()
    assert told.code == 201, told.body[:500]
    return sum(one.callcount for one in profile.getstats())


async def test_the_account_of_a_large_pod_was_given_on_the_event_loop(house: House) -> None:
    assert await calls_of(house, large_pod()) < MOST_CALLS


async def test_limits_were_given_to_a_large_pod_on_the_event_loop(house: House) -> None:
    limit = {"type": "Container", "default": {"ephemeral-storage": "1Gi"}, "max": {"cpu": "2"}}
    await house.create("limitranges", "default", {"metadata": {"name": "l"}, "spec": {"limits": [limit]}})
    pod = large_pod()
    for one in pod["spec"]["containers"][1:]:
        one["resources"]["limits"]["ephemeral-storage"] = "1Gi"  # so that the note of what was filled is not too long
    assert await calls_of(house, pod) < MOST_CALLS


async def test_defaults_of_a_class_were_given_on_the_event_loop(house: House) -> None:
    note = {"ingressclass.kubernetes.io/is-default-class": "true"}
    class_ = {"metadata": {"name": "c", "annotations": note}, "spec": {"controller": "example.com/c"}}
    await house.create("apis/networking.k8s.io/v1/ingressclasses", "", class_)
    rules = [{"host": f"h{n}.example.com"} for n in range(RULES)]
    profile = cProfile.Profile()
    profile.enable()
    path = "/apis/networking.k8s.io/v1/namespaces/default/ingresses"
    told = await house.ask("POST", path, {"metadata": {"name": "large"}, "spec": {"rules": rules}})
    profile.disable()
    assert told.json["spec"]["ingressClassName"] == "c"
    assert sum(one.callcount for one in profile.getstats()) < MOST_CALLS
