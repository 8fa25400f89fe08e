"""`dependents` and `owners` over HTTP. No collector runs, so all objects stay as created."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, InProcessServer, running

DEPENDENTS = "/apis/probate.dev/v1alpha1/dependents"
OWNERS = "/apis/probate.dev/v1alpha1/owners"


@pytest.fixture
async def server() -> AsyncIterator[InProcessServer]:
    async with running(clock=FakeClock(), collects=False) as server:
        await server.create("namespaces", "", {"metadata": {"name": "other"}})
        yield server


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def create_configmap(server: InProcessServer, name: str, *references: Any, namespace: str = "default", **more: Any) -> Any:
    return await server.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references, **more}})


async def list_dependents(server: InProcessServer, **query: Any) -> Any:
    response = await server.request("GET", DEPENDENTS, query=query)
    assert response.code == 200, response.body
    return response.json


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


async def test_dependent_has_its_reference_and_the_owner_state(server: InProcessServer) -> None:
    owner = await create_configmap(server, "owner")
    tie = reference(owner, blockOwnerDeletion=True, controller=True)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    web = {"metadata": {"name": "web", "ownerReferences": [tie]}, "spec": spec}
    made = await server.create("apis/apps/v1/replicasets", "default", web)
    found = await list_dependents(server, uid=owner["metadata"]["uid"])
    assert (found["kind"], found["apiVersion"]) == ("DependentList", "probate.dev/v1alpha1")
    assert found["metadata"] == {"resourceVersion": made["metadata"]["resourceVersion"]}
    assert found["items"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": made["metadata"],
            "reference": tie,
            "blocks": True,
            "standing": "solid",
        }
    ]


async def test_dependents_are_found_by_owner_name(server: InProcessServer) -> None:
    owner = await create_configmap(server, "owner")
    await create_configmap(server, "child", reference(owner))
    found = await list_dependents(server, apiVersion="v1", kind="ConfigMap", namespace="default", name="owner")
    assert names(found) == ["child"]
    assert found["items"][0]["blocks"] is False


async def test_pages_return_every_dependent_once(server: InProcessServer) -> None:
    owner = await create_configmap(server, "owner")
    for number in range(7):
        await create_configmap(server, f"child-{number}", reference(owner))
    seen: list[str] = []
    query = {"uid": owner["metadata"]["uid"], "limit": 3}
    while True:
        page = await list_dependents(server, **query)
        assert len(page["items"]) <= 3
        seen += names(page)
        if "continue" not in page["metadata"]:
            break
        query["continue"] = page["metadata"]["continue"]
    assert seen == [f"child-{number}" for number in range(7)]


async def test_without_a_limit_all_dependents_are_returned(server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probate.server.ownership_api.owners_and_dependents.CHUNK", 2)
    owner = await create_configmap(server, "owner")
    for number in range(5):
        await create_configmap(server, f"child-{number}", reference(owner))
    found = await list_dependents(server, uid=owner["metadata"]["uid"])
    assert len(names(found)) == 5
    assert "continue" not in found["metadata"]


async def test_selectors_and_namespace_filter_dependents(server: InProcessServer) -> None:
    class_ = await server.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "owner"}, "value": 1})
    await create_configmap(server, "red", reference(class_), labels={"colour": "red"})
    await create_configmap(server, "blue", reference(class_), labels={"colour": "blue"})
    await create_configmap(server, "far", reference(class_), namespace="other", labels={"colour": "red"})
    uid = class_["metadata"]["uid"]
    assert names(await list_dependents(server, uid=uid)) == ["blue", "red", "far"]
    assert names(await list_dependents(server, uid=uid, labelSelector="colour=red")) == ["red", "far"]
    assert names(await list_dependents(server, uid=uid, labelSelector="colour=red", namespace="other")) == ["far"]
    assert names(await list_dependents(server, uid=uid, fieldSelector="metadata.name!=red")) == ["blue", "far"]
    shorter = await list_dependents(server, uid=uid, labelSelector="colour=red", limit=1)
    assert names(shorter) == []  # one entry was read, and was another's
    assert shorter["metadata"]["continue"]


async def test_owner_state_is_as_seen_from_the_dependent(server: InProcessServer) -> None:
    owner = await create_configmap(server, "owner")
    uid = owner["metadata"]["uid"]
    await create_configmap(server, "near", reference(owner, blockOwnerDeletion=True))
    await create_configmap(server, "far", reference(owner, blockOwnerDeletion=True), namespace="other")
    await create_configmap(server, "misled", {**reference(owner), "kind": "Secret"})
    await create_configmap(server, "unsure", {**reference(owner), "apiVersion": "none.example.com/v1", "kind": "Nothing"})
    unbound = {"metadata": {"name": "unbound", "ownerReferences": [reference(owner)]}, "value": 1}
    await server.create("apis/scheduling.k8s.io/v1/priorityclasses", "", unbound)

    async def told() -> dict[str, tuple[str, bool]]:
        found = await list_dependents(server, uid=uid)
        return {item["metadata"]["name"]: (item["standing"], item["blocks"]) for item in found["items"]}

    others = {
        "far": ("dangling", False),
        "misled": ("dangling", False),
        "unsure": ("unknown", False),
        "unbound": ("out of reach", False),
    }
    assert await told() == {"near": ("solid", True), **others}
    path = "/api/v1/namespaces/default/configmaps/owner"
    assert (await server.request("DELETE", path, {"propagationPolicy": "Foreground"})).code == 200
    assert await told() == {"near": ("waiting", True), **others}
    found = await list_dependents(server, apiVersion="v1", kind="ConfigMap", namespace="default", name="owner")
    assert names(found) == ["misled", "near", "unsure"]  # those that can be its dependents, by where they are


async def test_owners_are_in_reference_order_including_missing_ones(server: InProcessServer) -> None:
    owner = await create_configmap(server, "owner", labels={"colour": "red"})
    gone = {"apiVersion": "v1", "kind": "Secret", "name": "gone", "uid": "no-such-uid"}
    await create_configmap(server, "child", gone, reference(owner, blockOwnerDeletion=True))
    asked = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "child"}
    response = await server.request("GET", OWNERS, query=asked)
    assert response.json["kind"] == "OwnerList"
    assert response.json["items"] == [
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "gone", "uid": "no-such-uid"},
            "reference": gone,
            "blocks": False,
            "standing": "dangling",
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": owner["metadata"],
            "reference": reference(owner, blockOwnerDeletion=True),
            "blocks": True,
            "standing": "solid",
        },
    ]
    only = await server.request("GET", OWNERS, query={**asked, "labelSelector": "colour=red"})
    assert names(only.json) == ["owner"]


async def test_unreferenced_object_has_no_dependents(server: InProcessServer) -> None:
    assert (await list_dependents(server, uid="nobody"))["items"] == []


@pytest.mark.parametrize(
    ("path", "query", "code", "message"),
    [
        (DEPENDENTS, {}, 400, "select an owner"),
        (DEPENDENTS, {"uid": "a/b"}, 400, "is not a valid uid"),
        (DEPENDENTS, {"uid": ["a", "b"]}, 400, "give at most 1"),
        (DEPENDENTS, {"uid": "a", "namespace": "A/"}, 400, "is not a valid namespace name"),
        (DEPENDENTS, {"uid": "a", "limit": "x"}, 400, "must be an integer"),
        (DEPENDENTS, {"uid": "a", "continue": "???"}, 400, "start the list again"),
        (DEPENDENTS, {"uid": "a", "labelSelector": "a in"}, 400, ""),
        (DEPENDENTS, {"uid": "a", "fieldSelector": "spec.x=1"}, 400, "not supported"),
        (DEPENDENTS, {"uid": "a", "watch": "1"}, 400, "cannot be watched"),
        (DEPENDENTS, {"uid": "a", "resourceVersion": "1", "resourceVersionMatch": "Exact"}, 400, "always current"),
        (OWNERS, {"uid": "a"}, 400, "whose owners to list"),
        (OWNERS, {"kind": "ConfigMap"}, 400, "one of these is missing"),
        (OWNERS, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}, 400, "is namespaced"),
        (OWNERS, {"apiVersion": "v1", "kind": "Nothing", "name": "x"}, 404, "no kind Nothing is served in v1"),
        (OWNERS, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": "default"}, 404, '"x" not found'),
        (OWNERS, {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "other"}, 404, '"default" not found'),
        (OWNERS, {"apiVersion": "v1", "kind": "Namespace", "name": "a/b"}, 400, "is not a valid object name"),
        ("/apis/probate.dev/v1alpha1/cousins", {}, 404, "nothing is served"),
    ],
)
async def test_invalid_request_is_rejected_with_a_clear_message(
    server: InProcessServer, path: str, query: Any, code: int, message: str
) -> None:
    response = await server.request("GET", path, query=query)
    assert (response.code, response.json["kind"], response.json["code"]) == (code, "Status", code)
    assert message in response.json["message"]


async def test_paths_are_read_only_and_absent_from_discovery(server: InProcessServer) -> None:
    assert (await server.request("POST", DEPENDENTS, {})).code == 405
    groups = (await server.request("GET", "/apis")).json["groups"]
    assert "probate.dev" not in {group["name"] for group in groups}
