"""APIServices: one for each served version, as kubectl shows them."""

from __future__ import annotations

import asyncio

import httpx

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_every_built_in_version_is_local_and_available(http: httpx.Client) -> None:
    found = {one["metadata"]["name"]: one for one in http.get(PATH).json()["items"]}
    groups = http.get("/apis").json()["groups"]
    served = {f"{one['version']}.{group['name']}" for group in groups for one in group["versions"]} | {"v1."}
    local = {name for name in served if not name.endswith(".apiregistration.k8s.io")}
    assert local <= set(found)
    for name in local:
        [available] = found[name]["status"]["conditions"]
        assert (available["type"], available["status"], available["reason"]) == ("Available", "True", "Local")
    assert found["v1.apps"]["metadata"]["labels"] == {"kube-aggregator.kubernetes.io/automanaged": "onstart"}


async def test_api_services_of_custom_kinds_follow_their_crds(http: httpx.Client) -> None:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "shown.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "gadgets.shown.example.com"}, "spec": spec}
    assert http.post(DEFINITIONS, json=definition).status_code == 201
    found = http.get(f"{PATH}/v1.shown.example.com").json()
    assert found["spec"] == {"group": "shown.example.com", "version": "v1", "groupPriorityMinimum": 1000, "versionPriority": 100}
    assert http.delete(f"{DEFINITIONS}/gadgets.shown.example.com").status_code == 200
    async with asyncio.timeout(60):
        while http.get(f"{PATH}/v1.shown.example.com").status_code != 404:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def test_api_service_with_a_backend_is_reported_as_not_supported(http: httpx.Client) -> None:
    service = {"namespace": "default", "name": "other"}
    spec = {"group": "far.example.com", "version": "v1", "groupPriorityMinimum": 1, "versionPriority": 1, "service": service}
    made = http.post(PATH, json={"metadata": {"name": "v1.far.example.com"}, "spec": {**spec, "insecureSkipTLSVerify": True}})
    assert made.status_code == 201, made.text
    [available] = made.json()["status"]["conditions"]
    assert (available["status"], available["reason"]) == ("False", "NoAggregation")
    http.delete(f"{PATH}/v1.far.example.com")
