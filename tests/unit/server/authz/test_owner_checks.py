"""Warnings about owner references that cannot work, at the time of the write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from probate.server.objects.owner_reference_warnings import CheckMode
from support.in_process_server import Response
from support.owner_settings import set_owner_warnings
from support.rbac_server import RbacServer, running_with_rbac

MAPS = "/api/v1/namespaces/a/configmaps"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
MERGE = "application/merge-patch+json"


@pytest.fixture
async def server() -> AsyncIterator[RbacServer]:
    async with running_with_rbac() as item:
        yield item


def reference(owner: Any, **other: Any) -> Any:
    meta = owner["metadata"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": meta["name"], "uid": meta["uid"], **other}


async def refer(server: RbacServer, *references: Any, path: str = MAPS, name: str = "x", who: str = "") -> Response:
    body = {"metadata": {"name": name, "ownerReferences": list(references)}}
    return await (server.ask_as(who, "POST", path, body=body) if who else server.request("POST", path, body))


def warning(response: Response) -> str:
    assert response.code in {200, 201}, response.body
    return response.headers.get("warning", "")


async def test_existing_owner_gets_no_warning(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert warning(await refer(server, reference(owner))) == ""


async def test_missing_owner(server: RbacServer) -> None:
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    assert "metadata.ownerReferences[0]: there is no ConfigMap nobody (u)" in warning(await refer(server, reference(absent)))


async def test_owner_with_another_uid(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert "ConfigMap owner has another uid than u" in warning(await refer(server, reference(owner, uid="u")))


async def test_uid_that_belongs_to_another_name_or_kind(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner"}})
    assert "there is no ConfigMap other" in warning(await refer(server, reference(owner, name="other")))
    assert "there is no Secret owner" in warning(await refer(server, reference(owner, kind="Secret"), name="y"))


async def test_owner_in_another_namespace(server: RbacServer) -> None:
    owner = await server.create("configmaps", "b", {"metadata": {"name": "owner"}})
    assert "is in another namespace" in warning(await refer(server, reference(owner)))


async def test_namespaced_owner_of_a_cluster_scoped_object(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner"}})
    response = warning(await refer(server, reference(owner), path=ROLES))
    assert "is namespaced, and cannot own a cluster-scoped object" in response


async def test_owner_of_an_unknown_kind(server: RbacServer) -> None:
    absent = {"metadata": {"name": "orb", "uid": "u"}}
    response = warning(await refer(server, reference(absent, apiVersion="orbs.example.com/v1", kind="Orb")))
    assert "no kind Orb of orbs.example.com/v1 is served" in response


async def test_owner_that_waits_for_its_dependents(server: RbacServer) -> None:
    owner = await server.create("configmaps", "a", {"metadata": {"name": "owner", "finalizers": ["example.com/hold"]}})
    await server.request("DELETE", f"{MAPS}/owner", {"propagationPolicy": "Foreground"})
    assert "is being deleted" in warning(await refer(server, reference(owner)))


async def test_ownership_cycles_of_one_two_and_three(server: RbacServer) -> None:
    first = await server.create("configmaps", "a", {"metadata": {"name": "first"}})
    second = (await refer(server, reference(first), name="second")).json
    third = (await refer(server, reference(second), name="third")).json
    for owner in (first, second, third):
        body = {"metadata": {"ownerReferences": [reference(owner)]}}
        assert "own each other" in warning(await server.request("PATCH", f"{MAPS}/first", body, media=MERGE))


async def test_existing_references_are_not_warned_about_again(server: RbacServer) -> None:
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    await refer(server, reference(absent))
    assert warning(await server.request("PATCH", f"{MAPS}/x", {"data": {"a": "b"}}, media=MERGE)) == ""


async def test_warnings_reveal_nothing_that_the_user_may_not_read(server: RbacServer) -> None:
    secret = await server.create("secrets", "a", {"metadata": {"name": "there"}})
    await server.create("configmaps", "b", {"metadata": {"name": "elsewhere"}})
    await server.grant("ann", {"verbs": ["create"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    seen = {
        warning(await refer(server, {**reference(secret, kind="Secret"), **other}, name=name, who="ann"))
        for name, other in {"right": {}, "uid": {"uid": "u"}, "name": {"name": "absent"}}.items()
    }
    assert seen == {""}
    await server.grant("ann", {"verbs": ["get"], "apiGroups": [""], "resources": ["configmaps"]}, namespace="a")
    response = await refer(
        server, {"apiVersion": "v1", "kind": "ConfigMap", "name": "elsewhere", "uid": "u"}, name="far", who="ann"
    )
    assert "there is no ConfigMap elsewhere" in warning(response)


async def test_reject_setting_refuses_the_write(server: RbacServer) -> None:
    set_owner_warnings(server, CheckMode.REFUSE)
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    refused = await refer(server, reference(absent))
    assert refused.code == 422
    assert [item["field"] for item in refused.json["details"]["causes"]] == ["metadata.ownerReferences[0]"]
    assert (await server.request("GET", f"{MAPS}/x")).code == 404


async def test_off_setting_gives_no_warnings(server: RbacServer) -> None:
    set_owner_warnings(server, CheckMode.OFF)
    absent = {"metadata": {"name": "nobody", "uid": "u"}}
    assert warning(await refer(server, reference(absent))) == ""
