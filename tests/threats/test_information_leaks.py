"""Ways to learn what one may not know (docs/security.md, the table of threats)."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from support.attacker_requests import CORE, MAPS, MERGE, SECRETS, config_map, is_there, may, reference
from support.rbac_server import Guarded

REVIEWS = "/apis/authorization.k8s.io/v1"
ASKED: dict[str, dict[str, Any]] = {
    "get": {"method": "GET"},
    "update": {"method": "PUT", "body": {"metadata": {"name": "x"}}},
    "patch": {"method": "PATCH", "body": {}, "media": MERGE},
    "apply": {
        "method": "PATCH",
        "body": {"apiVersion": "v1", "kind": "Secret"},
        "media": "application/apply-patch+yaml",
        "query": {"fieldManager": "m"},
    },
    "delete": {"method": "DELETE"},
    "uid": {"method": "DELETE", "body": {"preconditions": {"uid": "u"}}},
    "dry": {"method": "DELETE", "query": {"dryRun": "All"}},
    "watch": {"method": "GET", "query": {"watch": "1", "fieldSelector": "metadata.name=there"}},
    "table": {"method": "GET", "accept": "application/json;as=Table;v=v1;g=meta.k8s.io"},
    "metadata": {"method": "GET", "accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"},
}


@pytest.mark.parametrize("how", ASKED)
async def test_t35_refusal_does_not_depend_on_whether_the_object_is_there(house: Guarded, how: str) -> None:
    await house.grant("eve", may("*", "configmaps"), namespace="a")
    await house.create("secrets", "a", {"metadata": {"name": "there"}})
    told = [await house.ask_as("eve", path=f"{SECRETS}/{name}", **ASKED[how]) for name in ("there", "lost1")]
    assert [one.code for one in told] == [403, 403]
    assert told[0].body.replace(b"there", b"lost1") == told[1].body
    far = [await house.ask_as("eve", path=f"/api/v1/namespaces/{name}/secrets/x", **ASKED[how]) for name in ("b", "z")]
    assert [one.code for one in far] == [403, 403]


async def test_t36_references_and_what_becomes_of_them_tell_nothing_about_owners_one_may_not_read(house: Guarded) -> None:
    await house.grant("eve", may("create get list", "configmaps", "events"), namespace="a")
    secret = await house.create("secrets", "a", {"metadata": {"name": "there"}})
    far = await house.create("secrets", "b", {"metadata": {"name": "there"}})
    told = []
    for number, (owner, name) in enumerate([(secret, "there"), (far, "there"), (secret, "absent")]):
        body = config_map(f"x{number}", ownerReferences=[reference(owner, kind="Secret", name=name, uid=f"guess{number}")])
        told.append(await house.ask_as("eve", "POST", MAPS, body))
    assert [(one.code, one.headers.get("warning")) for one in told] == [(201, None)] * 3
    await house.rest()
    events = (await house.ask_as("eve", "GET", f"{CORE}/events")).json["items"]
    assert not any("there" in json.dumps(one.get("message", "")) for one in events)
    assert [await is_there(house, f"{MAPS}/x{number}") for number in range(3)] == [False] * 3


@pytest.mark.parametrize(
    "path",
    [
        "/apis/probate.dev/v1alpha1/dependents",
        "/apis/probate.dev/v1alpha1/owners",
        "/debug/ownership",
        "/metrics",
    ],
)
async def test_t37_questions_about_everything_take_a_right_to_everything(house: Guarded, path: str) -> None:
    await house.grant("eve", may("*", "*", group="*"), namespace="a")
    secret = await house.create("secrets", "b", {"metadata": {"name": "there"}})
    for query in ({}, {"uid": secret["metadata"]["uid"]}, {"namespace": "a"}):
        told = await house.ask_as("eve", "GET", path, query=query)
        assert told.code == 403, query
        assert b"there" not in told.body
    for odd in (f"{path}/", f"/{path}", path.replace("/", "//", 1), f"{path}%2f", f"{path}/..", f"/livez/..{path}"):
        assert (await house.ask_as("eve", "GET", odd)).code in {403, 404}, odd


@pytest.mark.parametrize(
    "selector",
    [
        "metadata.name=mine,metadata.name!=mine",
        "metadata.name!=other",
        "metadata.name=mine\\,metadata.name=x",
        "metadata.namespace=a",
        "metadata.name=",
        "metadata.name=mine,metadata.name=victim",
        "metadata.name in (mine)",
    ],
)
async def test_t38_selector_is_no_way_out_of_the_names_one_may_list(house: Guarded, selector: str) -> None:
    await house.grant("eve", may("list watch", "secrets", resourceNames=["mine"]), namespace="a")
    for name in ("mine", "victim"):
        await house.create("secrets", "a", {"metadata": {"name": name}})
    for query in ({"fieldSelector": selector}, {"fieldSelector": ["metadata.name=mine", selector]}):
        told = await house.ask_as("eve", "GET", SECRETS, query=query)
        assert told.code in {200, 400, 403}, query
        assert b"victim" not in told.body, query
        if told.code == 200:
            assert {one["metadata"]["name"] for one in told.json["items"]} <= {"mine"}


@pytest.mark.parametrize(
    "start",
    ["../../secrets/a/", "../b/", "/", "", "\x00", "victim", "a" * 5_000, "objects/secrets/a/victim", "..", "%2e%2e/"],
    ids=ascii,
)
async def test_t39_forged_token_of_a_page_does_not_lead_elsewhere(house: Guarded, start: str) -> None:
    await house.grant("eve", may("list", "configmaps"), namespace="a")
    await house.create("secrets", "a", {"metadata": {"name": "victim"}})
    await house.create("configmaps", "b", config_map("victim"))
    body = json.dumps({"rv": await house.store.revision(), "start": start}).encode()
    token = base64.urlsafe_b64encode(body).decode().rstrip("=")
    told = await house.ask_as("eve", "GET", MAPS, query={"continue": token, "limit": "100"})
    assert told.code in {200, 400}
    if told.code == 200:
        assert all(one["metadata"]["namespace"] == "a" for one in told.json["items"])


async def test_t40_reviews_about_others_take_a_right_and_stay_in_their_namespace(house: Guarded) -> None:
    await house.grant("eve", may("create", "localsubjectaccessreviews", group="authorization.k8s.io"), namespace="a")
    asked = {"user": "ann", "resourceAttributes": {"verb": "get", "resource": "secrets", "namespace": "b"}}
    assert (await house.ask_as("eve", "POST", f"{REVIEWS}/subjectaccessreviews", {"spec": asked})).code == 403
    path = f"{REVIEWS}/namespaces/a/localsubjectaccessreviews"
    assert (await house.ask_as("eve", "POST", path, {"spec": asked})).code in {400, 422}
    assert (await house.ask_as("eve", "POST", path.replace("/a/", "/b/"), {"spec": asked})).code == 403
    review = "/apis/authentication.k8s.io/v1/tokenreviews"
    assert (await house.ask_as("eve", "POST", review, {"spec": {"token": "x"}})).code == 403
    own = await house.ask_as("eve", "POST", f"{REVIEWS}/selfsubjectrulesreviews", {"spec": {"namespace": "b"}})
    assert "secrets" not in json.dumps(own.json["status"])


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/../b/secrets/s",
        "/api/v1/namespaces/a/configmaps/../secrets/s",
        "/api/v1//namespaces/b/secrets/s",
        "/api/v1/namespaces/a%2f..%2fb/secrets/s",
        "/api/v1/namespaces/b/secrets/s/",
        "/api/v1/watch/namespaces/b/secrets",
        "/api/v1/namespaces/b/secrets/s/status/../",
        "/api/v1/secrets",
    ],
)
async def test_t41_path_means_the_same_to_who_decides_and_to_who_answers(house: Guarded, path: str) -> None:
    await house.grant("eve", may("*", "*", group="*"), namespace="a")
    await house.create("secrets", "b", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    headers = [(b"x-http-method-override", b"DELETE"), (b"x-original-url", b"/api/v1/namespaces/a/configmaps")]
    told = await house.ask_as("eve", "GET", path, headers=headers)
    assert told.code in {403, 404, 405}
    assert b"c2VjcmV0" not in told.body
    assert await is_there(house, "/api/v1/namespaces/b/secrets/s")


async def test_t42_who_may_write_an_object_reads_it_and_no_other(house: Guarded) -> None:
    await house.grant("eve", may("patch", "secrets", resourceNames=["mine"]), namespace="a")
    for name in ("mine", "victim"):
        await house.create("secrets", "a", {"metadata": {"name": name}, "data": {"a": "c2VjcmV0"}})
    assert (await house.ask_as("eve", "GET", f"{SECRETS}/mine")).code == 403
    shown = await house.ask_as("eve", "PATCH", f"{SECRETS}/mine", {}, media=MERGE)
    assert (shown.code, shown.json["data"]) == (200, {"a": "c2VjcmV0"})  # as in Kubernetes: the answer to a write is the object
    assert (await house.ask_as("eve", "PATCH", f"{SECRETS}/victim", {}, media=MERGE)).code == 403


async def test_t43_the_past_is_shown_to_who_may_list_the_present_and_to_nobody_else(house: Guarded) -> None:
    await house.create("secrets", "a", {"metadata": {"name": "s"}, "data": {"a": "c2VjcmV0"}})
    before = {"resourceVersion": str(await house.store.revision()), "resourceVersionMatch": "Exact"}
    await house.ask("DELETE", f"{SECRETS}/s")
    for query in (before, {"watch": "1", "resourceVersion": "1"}):
        assert (await house.ask_as("eve", "GET", SECRETS, query=query)).code == 403
    await house.grant("eve", may("list", "secrets"), namespace="a")
    assert [one["metadata"]["name"] for one in (await house.ask_as("eve", "GET", SECRETS, query=before)).json["items"]] == ["s"]


async def test_t44_token_is_bound_to_what_is_there_in_the_namespace_and_to_nothing_elsewhere(house: Guarded) -> None:
    await house.grant("eve", may("create", "serviceaccounts/token"), namespace="a")
    await house.create("serviceaccounts", "a", {"metadata": {"name": "mine"}})
    for namespace in ("a", "b"):
        await house.create("secrets", namespace, {"metadata": {"name": f"in-{namespace}"}})
    found = {}
    for name in ("in-a", "in-b", "absent"):
        spec = {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": name}}
        found[name] = (await house.ask_as("eve", "POST", f"{CORE}/serviceaccounts/mine/token", {"spec": spec})).code
    assert found == {"in-a": 201, "in-b": 404, "absent": 404}  # as in Kubernetes: who may make tokens there learns of the names
