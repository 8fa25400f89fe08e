"""`dependents` and `owners`, asked over HTTP. No collector runs, so that everything stays as it was made."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from support.in_process_server import FakeClock, House, running

DEPENDENTS = "/apis/probate.dev/v1alpha1/dependents"
OWNERS = "/apis/probate.dev/v1alpha1/owners"


@pytest.fixture
async def house() -> AsyncIterator[House]:
    async with running(clock=FakeClock(), collects=False) as house:
        await house.create("namespaces", "", {"metadata": {"name": "other"}})
        yield house


def reference(owner: Any, **more: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"], **more}


async def make(house: House, name: str, *references: Any, namespace: str = "default", **more: Any) -> Any:
    return await house.create("configmaps", namespace, {"metadata": {"name": name, "ownerReferences": references, **more}})


async def list_dependents(house: House, **query: Any) -> Any:
    told = await house.ask("GET", DEPENDENTS, query=query)
    assert told.code == 200, told.body
    return told.json


def names(found: Any) -> list[str]:
    return [item["metadata"]["name"] for item in found["items"]]


async def test_a_dependent_is_shown_with_its_reference_and_how_its_owner_stands(house: House) -> None:
    owner = await make(house, "owner")
    tie = reference(owner, blockOwnerDeletion=True, controller=True)
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    web = {"metadata": {"name": "web", "ownerReferences": [tie]}, "spec": spec}
    made = await house.create("apis/apps/v1/replicasets", "default", web)
    found = await list_dependents(house, uid=owner["metadata"]["uid"])
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


async def test_dependents_are_found_by_the_name_of_their_owner_too(house: House) -> None:
    owner = await make(house, "owner")
    await make(house, "child", reference(owner))
    found = await list_dependents(house, apiVersion="v1", kind="ConfigMap", namespace="default", name="owner")
    assert names(found) == ["child"]
    assert found["items"][0]["blocks"] is False


async def test_pages_show_every_dependent_once(house: House) -> None:
    owner = await make(house, "owner")
    for number in range(7):
        await make(house, f"child-{number}", reference(owner))
    seen: list[str] = []
    query = {"uid": owner["metadata"]["uid"], "limit": 3}
    while True:
        page = await list_dependents(house, **query)
        assert len(page["items"]) <= 3
        seen += names(page)
        if "continue" not in page["metadata"]:
            break
        query["continue"] = page["metadata"]["continue"]
    assert seen == [f"child-{number}" for number in range(7)]


async def test_without_a_limit_all_are_shown(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("probate.server.ownership_api.owners_and_dependents.CHUNK", 2)
    owner = await make(house, "owner")
    for number in range(5):
        await make(house, f"child-{number}", reference(owner))
    found = await list_dependents(house, uid=owner["metadata"]["uid"])
    assert len(names(found)) == 5
    assert "continue" not in found["metadata"]


async def test_selectors_and_a_namespace_choose_among_dependents(house: House) -> None:
    class_ = await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", {"metadata": {"name": "owner"}, "value": 1})
    await make(house, "red", reference(class_), labels={"colour": "red"})
    await make(house, "blue", reference(class_), labels={"colour": "blue"})
    await make(house, "far", reference(class_), namespace="other", labels={"colour": "red"})
    uid = class_["metadata"]["uid"]
    assert names(await list_dependents(house, uid=uid)) == ["blue", "red", "far"]
    assert names(await list_dependents(house, uid=uid, labelSelector="colour=red")) == ["red", "far"]
    assert names(await list_dependents(house, uid=uid, labelSelector="colour=red", namespace="other")) == ["far"]
    assert names(await list_dependents(house, uid=uid, fieldSelector="metadata.name!=red")) == ["blue", "far"]
    shorter = await list_dependents(house, uid=uid, labelSelector="colour=red", limit=1)
    assert names(shorter) == []  # one entry was read, and was another's
    assert shorter["metadata"]["continue"]


async def test_how_the_owner_stands_is_seen_from_the_dependent(house: House) -> None:
    owner = await make(house, "owner")
    uid = owner["metadata"]["uid"]
    await make(house, "near", reference(owner, blockOwnerDeletion=True))
    await make(house, "far", reference(owner, blockOwnerDeletion=True), namespace="other")
    await make(house, "misled", {**reference(owner), "kind": "Secret"})
    await make(house, "unsure", {**reference(owner), "apiVersion": "none.example.com/v1", "kind": "Nothing"})
    unbound = {"metadata": {"name": "unbound", "ownerReferences": [reference(owner)]}, "value": 1}
    await house.create("apis/scheduling.k8s.io/v1/priorityclasses", "", unbound)

    async def told() -> dict[str, tuple[str, bool]]:
        found = await list_dependents(house, uid=uid)
        return {item["metadata"]["name"]: (item["standing"], item["blocks"]) for item in found["items"]}

    others = {
        "far": ("dangling", False),
        "misled": ("dangling", False),
        "unsure": ("unknown", False),
        "unbound": ("out of reach", False),
    }
    assert await told() == {"near": ("solid", True), **others}
    path = "/api/v1/namespaces/default/configmaps/owner"
    assert (await house.ask("DELETE", path, {"propagationPolicy": "Foreground"})).code == 200
    assert await told() == {"near": ("waiting", True), **others}
    found = await list_dependents(house, apiVersion="v1", kind="ConfigMap", namespace="default", name="owner")
    assert names(found) == ["misled", "near", "unsure"]  # those that can be its dependents, by where they are


async def test_owners_are_shown_in_the_order_of_the_references_also_those_that_are_gone(house: House) -> None:
    owner = await make(house, "owner", labels={"colour": "red"})
    gone = {"apiVersion": "v1", "kind": "Secret", "name": "gone", "uid": "no-such-uid"}
    await make(house, "child", gone, reference(owner, blockOwnerDeletion=True))
    asked = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "child"}
    told = await house.ask("GET", OWNERS, query=asked)
    assert told.json["kind"] == "OwnerList"
    assert told.json["items"] == [
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
    only = await house.ask("GET", OWNERS, query={**asked, "labelSelector": "colour=red"})
    assert names(only.json) == ["owner"]


async def test_whoever_nobody_refers_to_has_no_dependents(house: House) -> None:
    assert (await list_dependents(house, uid="nobody"))["items"] == []


@pytest.mark.parametrize(
    ("path", "query", "code", "message"),
    [
        (DEPENDENTS, {}, 400, "say whose dependents"),
        (DEPENDENTS, {"uid": "a/b"}, 400, "is no uid"),
        (DEPENDENTS, {"uid": ["a", "b"]}, 400, "give at most 1"),
        (DEPENDENTS, {"uid": "a", "namespace": "A/"}, 400, "is no name that a namespace can have"),
        (DEPENDENTS, {"uid": "a", "limit": "x"}, 400, "must be a whole number"),
        (DEPENDENTS, {"uid": "a", "continue": "???"}, 400, "begin the list anew"),
        (DEPENDENTS, {"uid": "a", "labelSelector": "a in"}, 400, ""),
        (DEPENDENTS, {"uid": "a", "fieldSelector": "spec.x=1"}, 400, "not supported"),
        (DEPENDENTS, {"uid": "a", "watch": "1"}, 400, "cannot be watched"),
        (DEPENDENTS, {"uid": "a", "resourceVersion": "1", "resourceVersionMatch": "Exact"}, 400, "as they are now"),
        (OWNERS, {"uid": "a"}, 400, "owners are asked for by"),
        (OWNERS, {"kind": "ConfigMap"}, 400, "one of these is missing"),
        (OWNERS, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x"}, 400, "lies in a namespace"),
        (OWNERS, {"apiVersion": "v1", "kind": "Nothing", "name": "x"}, 404, "no kind Nothing is served in v1"),
        (OWNERS, {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "namespace": "default"}, 404, '"x" not found'),
        (OWNERS, {"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": "other"}, 404, '"default" not found'),
        (OWNERS, {"apiVersion": "v1", "kind": "Namespace", "name": "a/b"}, 400, "is no name that an object can have"),
        ("/apis/probate.dev/v1alpha1/cousins", {}, 404, "nothing is served"),
    ],
)
async def test_a_question_that_makes_no_sense_is_a_clear_status(
    house: House, path: str, query: Any, code: int, message: str
) -> None:
    told = await house.ask("GET", path, query=query)
    assert (told.code, told.json["kind"], told.json["code"]) == (code, "Status", code)
    assert message in told.json["message"]


async def test_questions_are_only_asked_and_not_shown_by_discovery(house: House) -> None:
    assert (await house.ask("POST", DEPENDENTS, {})).code == 405
    groups = (await house.ask("GET", "/apis")).json["groups"]
    assert "probate.dev" not in {group["name"] for group in groups}
