"""Selectors on kinds with a conversion webhook match the requested version: in lists, watches and deletes alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from support.in_process_server import InProcessServer, running
from support.webhook_servers import WebhookServer, serving

DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUP = "ports.example.com"
ONE, TWO = (f"/apis/{GROUP}/{version}/namespaces/default/doors" for version in ("v1", "v2"))
DOORS = {"a": "north:80", "b": "north:8080", "c": "south:80"}


def version(name: str, fields: list[str], *, is_stored: bool = False) -> Any:
    properties = {field: {"type": "string"} for field in fields}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    selectable = [{"jsonPath": f".{field}"} for field in fields]
    return {"name": name, "served": True, "storage": is_stored, "schema": schema, "selectableFields": selectable}


def definition(hook: WebhookServer) -> Any:
    versions = [version("v1", ["hostPort"], is_stored=True), version("v2", ["host", "port"])]
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": hook.client, "conversionReviewVersions": ["v1"]}}
    names = {"plural": "doors", "singular": "door", "kind": "Door", "listKind": "DoorList"}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions, "conversion": conversion}
    return {"metadata": {"name": f"doors.{GROUP}"}, "spec": spec}


def convert(review: Any) -> Any:
    """Converts Doors to the other version. Only v2 has the label."""
    request = review["request"]
    converted = [_convert(one, request["desiredAPIVersion"]) for one in request["objects"]]
    return _answered(review, convertedObjects=converted, result={"status": "Success"})


def _answered(review: Any, **response: Any) -> Any:
    about = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}
    return {**about, "response": {"uid": review["request"]["uid"], **response}}


def _convert(object_: Any, wanted: str) -> Any:
    about = {"kind": object_["kind"], "apiVersion": wanted}
    if wanted.endswith("/v1"):
        return {**about, "metadata": object_["metadata"], "hostPort": f"{object_['host']}:{object_['port']}"}
    host, _, port = object_["hostPort"].partition(":")
    labels = {**object_["metadata"].get("labels", {}), "side": host}
    return {**about, "metadata": {**object_["metadata"], "labels": labels}, "host": host, "port": port}


def refuse(review: Any) -> Any:
    return _answered(review, result={"status": "Failure", "message": "not today"})


@asynccontextmanager
async def doors() -> AsyncGenerator[tuple[InProcessServer, WebhookServer], None]:
    async with running() as server, serving(convert) as hook:
        await server.create(DEFINITIONS, "", definition(hook))
        for name, where in DOORS.items():
            one = {"apiVersion": f"{GROUP}/v1", "kind": "Door", "metadata": {"name": name}, "hostPort": where}
            assert (await server.request("POST", ONE, one)).code == 201
        yield server, hook


async def names(server: InProcessServer, path: str = ONE, **query: Any) -> list[str]:
    response = await server.request("GET", path, query=query)
    assert response.code == 200, response.body
    return [one["metadata"]["name"] for one in response.json["items"]]


async def initial_events(server: InProcessServer, path: str, query: dict[str, str]) -> list[Any]:
    """Returns the initial events of a watch, up to the bookmark that ends them, or the error."""
    events: list[Any] = []
    is_over = asyncio.Event()

    async def receive() -> dict[str, Any]:
        await is_over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        events.extend(orjson.loads(line) for line in message.get("body", b"").splitlines())
        if events and events[-1]["type"] in {"BOOKMARK", "ERROR"}:
            is_over.set()

    wanted = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}
    asked = urlencode({**query, **wanted, "watch": "1"}).encode()
    async with asyncio.timeout(60):
        await server.app({"type": "http", "method": "GET", "path": path, "query_string": asked, "headers": []}, receive, send)
    return events


SELECTED: dict[str, tuple[str, dict[str, str], list[str]]] = {
    "field": (TWO, {"fieldSelector": "host=north"}, ["a", "b"]),
    "two fields": (TWO, {"fieldSelector": "host=north,port=80"}, ["a"]),
    "not a field": (TWO, {"fieldSelector": "host!=north"}, ["c"]),
    "field of the stored version": (ONE, {"fieldSelector": "hostPort=south:80"}, ["c"]),
    "label": (TWO, {"labelSelector": "side=south"}, ["c"]),
    "no label": (TWO, {"labelSelector": "!side"}, []),
    "label of the stored version": (ONE, {"labelSelector": "!side"}, ["a", "b", "c"]),
    "label and field": (TWO, {"labelSelector": "side=north", "fieldSelector": "port!=80"}, ["b"]),
    "name": (TWO, {"fieldSelector": "metadata.name=b"}, ["b"]),
}
each_selector = pytest.mark.parametrize(("path", "query", "found"), SELECTED.values(), ids=SELECTED.keys())


@each_selector
async def test_lists_and_watches_match_the_requested_version(path: str, query: dict[str, str], found: list[str]) -> None:
    async with doors() as (server, _):
        assert await names(server, path, **query) == found
        shown = [one["object"] for one in await initial_events(server, path, query) if one["type"] == "ADDED"]
        assert [one["metadata"]["name"] for one in shown] == found
        assert {one["apiVersion"] for one in shown} <= {f"{GROUP}/{path.split('/')[3]}"}


@each_selector
async def test_deletecollection_deleted_what_its_selector_did_not_ask_for(
    path: str, query: dict[str, str], found: list[str]
) -> None:
    async with doors() as (server, _):
        response = await server.request("DELETE", path, query=query)
        assert (response.code, [one["metadata"]["name"] for one in response.json["items"]]) == (200, found)
        assert await names(server) == [name for name in DOORS if name not in found]


async def test_selector_for_names_does_not_call_the_webhook() -> None:
    async with doors() as (server, hook):
        hook.answer = refuse
        assert (await server.request("DELETE", TWO, query={"fieldSelector": "metadata.name=b"})).code == 200
        assert await names(server) == ["a", "c"]


@pytest.mark.parametrize("query", [{"fieldSelector": "host=north"}, {"fieldSelector": "host!=north"}, {"labelSelector": "!side"}])
async def test_object_that_cannot_be_converted_neither_matches_nor_is_skipped(query: dict[str, str]) -> None:
    async with doors() as (server, hook):
        hook.answer = refuse
        for method in ("GET", "DELETE"):
            response = await server.request(method, TWO, query=query)
            assert (response.code, "not today" in response.json["message"]) == (500, True)
        [event] = await initial_events(server, TWO, query)
        assert (event["type"], event["object"]["code"]) == ("ERROR", 500)
        assert await names(server) == list(DOORS)


async def test_pages_of_converted_objects_are_one_snapshot_and_convert_in_parts() -> None:
    async with doors() as (server, hook):
        for number in range(120):
            where = f"west:{number}" if number % 40 == 0 else "east:1"
            one = {"apiVersion": f"{GROUP}/v1", "kind": "Door", "metadata": {"name": f"d{number:03}"}, "hostPort": where}
            await server.request("POST", ONE, one)
        query = {"fieldSelector": "host=west", "limit": "1"}
        hook.reviews.clear()
        found, page = [], (await server.request("GET", TWO, query=query)).json
        assert [len(one["request"]["objects"]) for one in hook.reviews] == [50]
        assert (await server.request("DELETE", f"{ONE}/d080")).code == 200
        found += page["items"]
        while page["metadata"].get("continue"):
            page = (await server.request("GET", TWO, query={**query, "continue": page["metadata"]["continue"]})).json
            found += page["items"]
        assert [(one["metadata"]["name"], one["port"]) for one in found] == [("d000", "0"), ("d040", "40"), ("d080", "80")]
        assert "remainingItemCount" not in page["metadata"]
