"""Custom kinds whose versions a webhook converts: each version is served whole, and a bad webhook holds back only its own kind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import orjson
import pytest

from support.in_process_server import House, running
from support.webhook_servers import Hook, allow, configuration, http, serving

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "door.example.com"
ONE, TWO = (f"/apis/{GROUP}/{version}/namespaces/default/bells" for version in ("v1", "v2"))
MERGE = "application/merge-patch+json"


def version(name: str, fields: dict[str, str], *, is_stored: bool = False) -> Any:
    properties = {field: {"type": kind} for field, kind in fields.items()}
    spec = {"type": "object", "properties": properties}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}}
    return {"name": name, "served": True, "storage": is_stored, "schema": schema, "subresources": {"status": {}}}


def definition(hook: Hook, stored: str = "v1") -> Any:
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
async def belled(stored: str = "v1") -> AsyncGenerator[tuple[House, Hook], None]:
    async with running() as house, serving(convert) as hook:
        await house.create(DEFINITIONS, "", definition(hook, stored))
        yield house, hook


async def test_what_is_written_in_one_version_is_read_in_the_other() -> None:
    async with belled() as (house, hook):
        made = await house.ask("POST", TWO, bell("v2", address="home:80"))
        assert (made.code, made.json["apiVersion"], made.json["spec"]) == (201, f"{GROUP}/v2", {"address": "home:80"})
        one = (await house.ask("GET", f"{ONE}/b")).json
        assert (one["apiVersion"], one["spec"]) == (f"{GROUP}/v1", {"host": "home", "port": 80})
        asked = len(hook.asked)
        assert (await house.ask("GET", f"{ONE}/b")).json == one
        assert len(hook.asked) == asked  # it is stored so
        two = (await house.ask("GET", f"{TWO}/b")).json
        assert two == made.json


async def test_lists_convert_all_at_once_and_tables_show_them() -> None:
    async with belled() as (house, hook):
        for number in range(5):
            await house.ask("POST", ONE, bell("v1", f"b{number}", host="home", port=number))
        hook.asked.clear()
        items = (await house.ask("GET", TWO)).json["items"]
        assert [one["spec"]["address"] for one in items] == [f"home:{number}" for number in range(5)]
        assert {one["apiVersion"] for one in items} == {f"{GROUP}/v2"}
        assert [len(one["request"]["objects"]) for one in hook.asked] == [5]
        table = "application/json;as=Table;g=meta.k8s.io;v=v1"
        assert len((await house.ask("GET", TWO, accept=table)).json["rows"]) == 5


@pytest.mark.parametrize("stored", ["v1", "v2"])
async def test_updates_patches_and_applies_work_in_any_version(stored: str) -> None:
    async with belled(stored) as (house, _):
        made = (await house.ask("POST", ONE, bell("v1", host="home", port=80))).json
        told = await house.ask("PATCH", f"{TWO}/b", {"spec": {"address": "away:81"}}, media=MERGE)
        assert (told.code, told.json["spec"], told.json["metadata"]["generation"]) == (200, {"address": "away:81"}, 2)
        told = await house.ask("PATCH", f"{ONE}/b", {"spec": {"port": 82}}, media=MERGE)
        assert told.json["spec"] == {"host": "away", "port": 82}
        told = await house.ask("PUT", f"{TWO}/b", {**told.json, **bell("v2", address="far:83"), "metadata": told.json["metadata"]})
        assert told.json["spec"] == {"address": "far:83"}, told.body
        document = {**bell("v2", address="near:84"), "metadata": {"name": "b"}}
        asked = {"fieldManager": "me", "force": "true"}
        told = await house.ask("PATCH", f"{TWO}/b", document, media="application/apply-patch+yaml", query=asked)
        assert told.json["spec"] == {"address": "near:84"}, told.body
        told = await house.ask("PATCH", f"{TWO}/b/status", {"status": {}}, media=MERGE)
        assert told.code == 200, told.body
        last = (await house.ask("GET", f"{ONE}/b")).json
        assert (last["spec"], last["metadata"]["uid"]) == ({"host": "near", "port": 84}, made["metadata"]["uid"])


async def test_another_storage_version_leaves_older_objects_readable() -> None:
    async with belled("v1") as (house, hook):
        await house.ask("POST", ONE, bell("v1", "old", host="home", port=1))
        changed = {"spec": definition(hook, "v2")["spec"]}
        assert (await house.ask("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", changed, media=MERGE)).code == 200
        await house.ask("POST", ONE, bell("v1", "new", host="home", port=2))
        for path, key in ((ONE, "port"), (TWO, "address")):
            specs = {one["metadata"]["name"]: one["spec"][key] for one in (await house.ask("GET", path)).json["items"]}
            assert specs == ({"new": 2, "old": 1} if key == "port" else {"new": "home:2", "old": "home:1"})


async def test_what_is_deleted_or_collected_stays_in_the_version_it_is_in() -> None:
    async with belled("v1") as (house, hook):
        changed = {"spec": definition(hook, "v2")["spec"]}
        assert (await house.ask("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", changed, media=MERGE)).code == 200
        one = bell("v1", host="home", port=1)
        one["metadata"]["finalizers"] = ["example.com/hold"]
        await house.ask("POST", ONE, one)
        assert (await house.ask("DELETE", f"{ONE}/b")).code == 200
        assert (await house.ask("GET", f"{ONE}/b")).json["spec"] == {"host": "home", "port": 1}


async def test_a_definition_that_stops_converting_shows_what_is_stored() -> None:
    async with belled("v1") as (house, _):
        await house.ask("POST", TWO, bell("v2", address="home:1"))
        none = {"spec": {"conversion": {"strategy": "None", "webhook": None}}}
        assert (await house.ask("PATCH", f"/{DEFINITIONS}/bells.{GROUP}", none, media=MERGE)).code == 200
        for path, name in ((ONE, "v1"), (TWO, "v2")):
            told = await house.ask("GET", f"{path}/b")
            assert not told.body.endswith(b'"apiVersion":"door.example.com/v1"}')
            assert told.json["apiVersion"] == f"{GROUP}/{name}"
            told = await house.ask("PATCH", f"{path}/b", {"metadata": {"labels": {"l": name}}}, media=MERGE)
            assert told.code == 200, told.body


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
        "its metadata were changed",
    ),
}


@pytest.mark.parametrize(("answer", "why"), BAD.values(), ids=BAD.keys())
async def test_a_conversion_that_cannot_be_used_is_told(answer: Any, why: str) -> None:
    async with belled() as (house, hook):
        await house.ask("POST", ONE, bell("v1", host="home", port=1))
        hook.answer = answer
        told = await house.ask("GET", f"{TWO}/b")
        assert told.code == 500
        assert f"conversion webhook for {GROUP}/v2, Kind=Bell failed: " in told.json["message"]
        assert why in told.json["message"]
        assert (await house.ask("POST", TWO, bell("v2", "c", address="home:2"))).code == 500
        assert (await house.ask("GET", f"{ONE}/c")).code == 404
        assert (await house.ask("GET", f"{ONE}/b")).code == 200


async def test_a_dead_webhook_holds_back_no_deletion_and_no_collection() -> None:
    async with belled("v2") as (house, hook):
        owner = await house.create("configmaps", "default", {"metadata": {"name": "owner"}})
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
        for name in ("b", "c", "d"):
            one = bell("v1", name, host="home", port=1)
            one["metadata"] |= {"ownerReferences": [reference]} if name == "b" else {"finalizers": ["example.com/hold"]}
            assert (await house.ask("POST", ONE, one)).code == 201
        await house.create("configmaps", "default", {"metadata": {"name": "other", "ownerReferences": [reference]}})
        hook.answer = lambda _: b"gone"
        assert (await house.ask("DELETE", f"{ONE}/c")).code == 200
        assert (await house.ask("DELETE", ONE)).code == 200
        await house.ask("DELETE", "/api/v1/namespaces/default/configmaps/owner", {"propagationPolicy": "Foreground"})
        await house.rest()
        keys = [one.key.rpartition("/")[2] for one in (await house.store.scan(f"objects/bells.{GROUP}/", limit=10)).records]
        assert keys == ["c", "d"]
        assert (await house.ask("GET", "/api/v1/namespaces/default/configmaps/other")).code == 404
        hook.answer = convert
        shown = (await house.ask("GET", f"{ONE}/c")).json
        assert (shown["spec"], "deletionTimestamp" in shown["metadata"]) == ({"host": "home", "port": 1}, True)


async def test_a_webhook_of_the_other_version_sees_the_converted_object() -> None:
    async with belled() as (house, _), serving(allow) as guard:
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["bells"]}
        resource = "apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        await house.create(resource, "", configuration(resource, guard.client, rules=[rule]))
        assert (await house.ask("POST", ONE, bell("v1", host="home", port=1))).code == 201
        assert (await house.ask("DELETE", f"{ONE}/b")).code == 200
        created, deleted = guard.requests
        assert created["object"]["spec"] == deleted["oldObject"]["spec"] == {"address": "home:1"}


async def test_a_watch_tells_the_version_that_was_asked_for() -> None:
    async with belled() as (house, _):
        await house.ask("POST", ONE, bell("v1", "first", host="home", port=1))
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
            await house.turns(10)
        await house.ask("POST", ONE, bell("v1", "second", host="home", port=2))
        await house.ask("PATCH", f"{ONE}/second", {"spec": {"port": 3}}, media=MERGE)
        await house.ask("DELETE", f"{ONE}/second")
        async with asyncio.timeout(60):
            await watching
        told = [(one["type"], one["object"]["apiVersion"], one["object"]["spec"]["address"]) for one in events]
        kinds = ["ADDED", "ADDED", "MODIFIED", "DELETED"]
        assert told == list(zip(kinds, [f"{GROUP}/v2"] * 4, ["home:1", "home:2", "home:3", "home:3"], strict=True))


async def test_what_a_conversion_adds_that_its_version_does_not_know_is_left_out() -> None:
    def meddle(review: Any) -> Any:
        told = convert(review)
        for one in told["response"]["convertedObjects"]:
            one["spec"]["extra"] = "x"
        return told

    async with belled("v1") as (house, hook):
        hook.answer = meddle
        await house.ask("POST", TWO, bell("v2", address="home:1"))
        assert (await house.ask("GET", f"{ONE}/b")).json["spec"] == {"host": "home", "port": 1}
        assert (await house.ask("GET", f"{TWO}/b")).json["spec"] == {"address": "home:1"}


async def test_a_long_list_is_converted_in_parts() -> None:
    async with belled() as (house, hook):
        for number in range(501):
            await house.ask("POST", ONE, bell("v1", f"b{number:03}", host="home", port=number))
        hook.asked.clear()
        items = (await house.ask("GET", TWO)).json["items"]
        assert [one["spec"]["address"] for one in items] == [f"home:{number}" for number in range(501)]
        assert [len(one["request"]["objects"]) for one in hook.asked] == [500, 1]


async def test_a_policy_is_never_shown_an_object_as_a_version_that_it_is_not_of() -> None:
    async with belled() as (house, _):
        registration = "apis/admissionregistration.k8s.io/v1"
        rule = {"operations": ["*"], "apiGroups": [GROUP], "apiVersions": ["v2"], "resources": ["bells"]}
        spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "object.spec.address != 'x:1'"}]}
        await house.create(f"{registration}/validatingadmissionpolicies", "", {"metadata": {"name": "p"}, "spec": spec})
        binding = {"policyName": "p", "validationActions": ["Deny"]}
        await house.create(f"{registration}/validatingadmissionpolicybindings", "", {"metadata": {"name": "p"}, "spec": binding})
        told = await house.ask("POST", ONE, bell("v1", host="x", port=1))
        assert (told.code, "name the version v1 too" in told.json["message"]) == (500, True)
        assert (await house.ask("POST", TWO, bell("v2", address="x:1"))).code == 422
        assert (await house.ask("POST", TWO, bell("v2", address="x:2"))).code == 201
