"""CRDs with a conversion webhook: every version is served, and a broken webhook affects only its own kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from support.in_process_server import InProcessServer, running
from support.webhook_servers import WebhookServer, allow, configuration, http, serving

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "door.example.com"
ONE, TWO = (f"/apis/{GROUP}/{version}/namespaces/default/bells" for version in ("v1", "v2"))
MERGE = "application/merge-patch+json"


def version(name: str, fields: dict[str, str], *, is_stored: bool = False) -> Any:
    properties = {field: {"type": kind} for field, kind in fields.items()}
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}}
    return {"name": name, "served": True, "storage": is_stored, "schema": schema, "subresources": {"status": {}}}


def definition(hook: WebhookServer, stored: str = "v1") -> Any:
    versions = [
        version("v1", {"host": "string", "port": "integer"}, is_stored=stored == "v1"),
        version("v2", {"address": "string"}, is_stored=stored == "v2"),
    ]
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": hook.client, "conversionReviewVersions": ["v1"]}}
    names = {"plural": "bells", "singular": "bell", "kind": "Bell", "listKind": "BellList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions, "conversion": conversion}
    return {"metadata": {"name": f"bells.{GROUP}"}, "spec": spec}


def convert(review: Any) -> Any:
    request = review["request"]
    converted = [_convert(one, request["desiredAPIVersion"]) for one in request["objects"]]
    return answered(review, convertedObjects=converted, result={"status": "Success"})


def answered(review: Any, **response: Any) -> Any:
    about = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}
    return {**about, "response": {"uid": review["request"]["uid"], **response}}


def _convert(object_: Any, wanted: str) -> Any:
    spec = dict(object_.get("spec") or {})
    if wanted.endswith("/v2") and "host" in spec:
        spec = {"address": f"{spec['host']}:{spec['port']}"}
    elif wanted.endswith("/v1") and "address" in spec:
        host, _, port = spec["address"].partition(":")
        spec = {"host": host, "port": int(port)}
    return {**object_, "apiVersion": wanted, "spec": spec}


def bell(version: str, name: str = "b", **spec: Any) -> Any:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Bell", "metadata": {"name": name}, "spec": spec}


@asynccontextmanager
async def belled(stored: str = "v1") -> AsyncGenerator[tuple[InProcessServer, WebhookServer], None]:
    async with running() as house, serving(convert) as hook:
        await house.create(DEFINITIONS, "", definition(hook, stored))
        yield house, hook


async def test_object_written_in_one_version_is_read_in_the_other() -> None:
    async with belled() as (house, hook):
        made = await house.request("POST", TWO, bell("v2", address="home:80"))
        assert (made.code, made.json["apiVersion"], made.json["spec"]) == (201, f"{GROUP}/v2", {"address": "home:80"})
        one = (await house.request("GET", f"{ONE}/b")).json
        assert (one["apiVersion"], one["spec"]) == (f"{GROUP}/v1", {"host": "home", "port": 80})
        asked = len(hook.reviews)
        assert (await house.request("GET", f"{ONE}/b")).json == one
        assert len(hook.reviews) == asked  # it is stored so
        two = (await house.request("GET", f"{TWO}/b")).json
        assert two == made.json


async def test_lists_are_converted_in_one_review_and_shown_as_tables() -> None:
    async with belled() as (house, hook):
        for number in range(5):
            await house.request("POST", ONE, bell("v1", f"b{number}", host="home", port=number))
        hook.reviews.clear()
        items = (await house.request("GET", TWO)).json["items"]
        assert [one["spec"]["address"] for one in items] == [f"home:{number}" for number in range(5)]
        assert {one["apiVersion"] for one in items} == {f"{GROUP}/v2"}
        assert [len(one["request"]["objects"]) for one in hook.reviews] == [5]
        table = "application/json;as=Table;g=meta.k8s.io;v=v1"
        assert len((await house.request("GET", TWO, accept=table)).json["rows"]) == 5


@pytest.mark.parametrize("stored", ["v1", "v2"])
async def test_updates_patches_and_applies_work_in_any_version(stored: str) -> None:
    async with belled(stored) as (house, _):
        made = (await house.request("POST", ONE, bell("v1", host="home", port=80))).json
        response = await house.request("PATCH", f"{TWO}/b", {"spec": {"address": "away:81"}}, media=MERGE)
        assert (response.code, response.json["spec"], response.json["metadata"]["generation"]) == (200, {"address": "away:81"}, 2)
        response = await house.request("PATCH", f"{ONE}/b", {"spec": {"port": 82}}, media=MERGE)
        assert response.json["spec"] == {"host": "away", "port": 82}
        response = await house.request(
            "PUT", f"{TWO}/b", {**response.json, **bell("v2", address="far:83"), "metadata": response.json["metadata"]}
        )
        assert response.json["spec"] == {"address": "far:83"}, response.body
        document = {**bell("v2", address="near:84"), "metadata": {"name": "b"}}
        asked = {"fieldManager": "me", "force": "true"}
        response = await house.request("PATCH", f"{TWO}/b", document, media="application/apply-patch+yaml", query=asked)
        assert response.json["spec"] == {"address": "near:84"}, response.body
        response = await house.request("PATCH", f"{TWO}/b/status", {"status": {}}, media=MERGE)
        assert response.code == 200, response.body
        last = (await house.request("GET", f"{ONE}/b")).json
        assert (last["spec"], last["metadata"]["uid"]) == ({"host": "near", "port": 84}, made["metadata"]["uid"])


async def test_changed_storage_version_leaves_older_objects_readable() -> None:
    async with belled("v1") as (house, hook):
        await house.request("POST", ONE, bell("v1", "old", host="home", port=1))
        changed = {"spec": definition(hook, "v2")["spec"]}
        assert (await house.request("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", changed, media=MERGE)).code == 200
        await house.request("POST", ONE, bell("v1", "new", host="home", port=2))
        for path, key in ((ONE, "port"), (TWO, "address")):
            specs = {one["metadata"]["name"]: one["spec"][key] for one in (await house.request("GET", path)).json["items"]}
            assert specs == ({"new": 2, "old": 1} if key == "port" else {"new": "home:2", "old": "home:1"})


async def test_deleted_and_collected_objects_keep_their_stored_version() -> None:
    async with belled("v1") as (house, hook):
        changed = {"spec": definition(hook, "v2")["spec"]}
        assert (await house.request("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", changed, media=MERGE)).code == 200
        one = bell("v1", host="home", port=1)
        one["metadata"]["finalizers"] = ["example.com/hold"]
        await house.request("POST", ONE, one)
        assert (await house.request("DELETE", f"{ONE}/b")).code == 200
        assert (await house.request("GET", f"{ONE}/b")).json["spec"] == {"host": "home", "port": 1}


async def test_crd_without_conversion_shows_the_stored_fields() -> None:
    async with belled("v1") as (house, _):
        await house.request("POST", TWO, bell("v2", address="home:1"))
        none = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        assert (await house.request("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", none, media=MERGE)).code == 200
        for path, name in ((ONE, "v1"), (TWO, "v2")):
            response = await house.request("GET", f"{path}/b")
            assert not response.body.endswith(b'"apiVersion":"door.example.com/v1"}')
            assert response.json["apiVersion"] == f"{GROUP}/{name}"
            response = await house.request("PATCH", f"{path}/b", {"metadata": {"labels": {"l": name}}}, media=MERGE)
            assert response.code == 200, response.body


BAD: dict[str, tuple[Any, str]] = {
    "a failure": (lambda review: answered(review, result={"status": "Failure", "message": "no way"}), "no way"),
    "too few": (
        lambda review: answered(review, convertedObjects=[], result={"status": "Success"}),
        "expected 1 converted objects, got 0",
    ),
    "no response": (lambda _: {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}, "no response provided"),
    "garbage": (lambda _: http(b"{"), "json parse error"),
    "another uid": (lambda review: {**convert(review), "response": {**convert(review)["response"], "uid": "x"}}, "response.uid"),
    "the wrong version": (
        lambda review: answered(review, convertedObjects=review["request"]["objects"], result={"status": "Success"}),
        "returned invalid converted object at index 0",
    ),
    "another object": (
        lambda review: orjson.loads(orjson.dumps(convert(review)).replace(b'"creationTimestamp":"', b'"creationTimestamp":"1')),
        "it changed metadata other than labels and annotations",
    ),
}


@pytest.mark.parametrize(("answer", "why"), BAD.values(), ids=BAD.keys())
async def test_unusable_conversion_response_is_reported(answer: Any, why: str) -> None:
    async with belled() as (house, hook):
        await house.request("POST", ONE, bell("v1", host="home", port=1))
        hook.answer = answer
        response = await house.request("GET", f"{TWO}/b")
        assert response.code == 500
        assert f"conversion webhook for {GROUP}/v2, Kind=Bell failed: " in response.json["message"]
        assert why in response.json["message"]
        assert (await house.request("POST", TWO, bell("v2", "c", address="home:2"))).code == 500
        assert (await house.request("GET", f"{ONE}/c")).code == 404
        assert (await house.request("GET", f"{ONE}/b")).code == 200


async def test_unreachable_webhook_does_not_block_deletion_or_collection() -> None:
    async with belled("v2") as (house, hook):
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        for name in ("b", "c", "d"):
            one = bell("v1", name, host="home", port=1)
            one["metadata"] |= {"ownerReferences": [reference]} if name == "b" else {"finalizers": ["example.com/hold"]}
            assert (await house.request("POST", ONE, one)).code == 201
        await house.create("configmaps", "default", {"metadata": {"name": "other", "ownerReferences": [reference]}})
        hook.answer = lambda _: b"gone"
        assert (await house.request("DELETE", f"{ONE}/c")).code == 200
        assert (await house.request("DELETE", ONE)).code == 200
        await house.request("DELETE", "/api/v1/namespaces/default/configmaps/owner", {"propagationPolicy": "Foreground"})
        await house.wait_until_idle()
        keys = [one.key.rpartition("/")[2] for one in (await house.store.scan(f"objects/bells.{GROUP}/", limit=10)).records]
        assert keys == ["c", "d"]
        assert (await house.request("GET", "/api/v1/namespaces/default/configmaps/other")).code == 404
        hook.answer = convert
        shown = (await house.request("GET", f"{ONE}/c")).json
        assert (shown["spec"], "deletionTimestamp" in shown["metadata"]) == ({"host": "home", "port": 1}, True)


async def test_admission_webhook_for_the_other_version_sees_the_converted_object() -> None:
    async with belled() as (house, _), serving(allow) as guard:
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["bells"]}
        resource = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await house.create(resource, "", configuration(resource, guard.client, rules=[rule]))
        assert (await house.request("POST", ONE, bell("v1", host="home", port=1))).code == 201
        assert (await house.request("DELETE", f"{ONE}/b")).code == 200
        created, deleted = guard.requests
        assert created["object"]["spec"] == deleted["oldObject"]["spec"] == {"address": "home:1"}


async def test_watch_sends_the_requested_version() -> None:
    async with belled() as (house, _):
        await house.request("POST", ONE, bell("v1", "first", host="home", port=1))
        events: list[Any] = []
        is_over = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await is_over.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            events.extend(orjson.loads(line) for line in message.get("body", b"").splitlines())
            if len(events) >= 4:
                is_over.set()

        scope = {"type": "http", "method": "GET", "path": TWO, "query_string": b"watch=1", "headers": []}
        watching = asyncio.ensure_future(house.app(scope, receive, send))
        while not events:
            await house.yield_to_loop(10)
        await house.request("POST", ONE, bell("v1", "second", host="home", port=2))
        await house.request("PATCH", f"{ONE}/second", {"spec": {"port": 3}}, media=MERGE)
        await house.request("DELETE", f"{ONE}/second")
        async with asyncio.timeout(60):
            await watching
        told = [(one["type"], one["object"]["apiVersion"], one["object"]["spec"]["address"]) for one in events]
        kinds = ["ADDED", "ADDED", "MODIFIED", "DELETED"]
        assert told == list(zip(kinds, [f"{GROUP}/v2"] * 4, ["home:1", "home:2", "home:3", "home:3"], strict=True))


async def test_fields_that_a_conversion_adds_against_the_schema_are_pruned() -> None:
    def meddle(review: Any) -> Any:
        told = convert(review)
        for one in told["response"]["convertedObjects"]:
            one["spec"]["extra"] = "x"
        return told

    async with belled("v1") as (house, hook):
        hook.answer = meddle
        await house.request("POST", TWO, bell("v2", address="home:1"))
        assert (await house.request("GET", f"{ONE}/b")).json["spec"] == {"host": "home", "port": 1}
        assert (await house.request("GET", f"{TWO}/b")).json["spec"] == {"address": "home:1"}


async def test_long_list_is_converted_in_parts() -> None:
    async with belled() as (house, hook):
        for number in range(501):
            await house.request("POST", ONE, bell("v1", f"b{number:03}", host="home", port=number))
        hook.reviews.clear()
        items = (await house.request("GET", TWO)).json["items"]
        assert [one["spec"]["address"] for one in items] == [f"home:{number}" for number in range(501)]
        assert [len(one["request"]["objects"]) for one in hook.reviews] == [500, 1]


async def test_policy_never_sees_an_object_labelled_with_a_wrong_version() -> None:
    async with belled() as (house, _):
        registration = "apis/admissionregistration.k8s.io/v1"
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["bells"]}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.spec.address != 'x:1'"}]}
        await house.create(f"{registration}/validatingadmissionpolicies", "", {"metadata": {"name": "p"}, "spec": spec})
        binding = {"policyName": "p", "validationActions": ["Deny"]}
        await house.create(f"{registration}/validatingadmissionpolicybindings", "", {"metadata": {"name": "p"}, "spec": binding})
        response = await house.request("POST", ONE, bell("v1", host="x", port=1))
        assert (response.code, "match the version v1 too" in response.json["message"]) == (500, True)
        assert (await house.request("POST", TWO, bell("v2", address="x:1"))).code == 422
        assert (await house.request("POST", TWO, bell("v2", address="x:2"))).code == 201
