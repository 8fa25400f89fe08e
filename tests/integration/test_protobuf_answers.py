"""Responses in Kubernetes' protobuf, for clients that prefer it: the same content as in JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from probate.kinds.protobuf import decode, encode
from probate.lib import protobuf
from support.in_process_server import InProcessServer, Response, running

PROTOBUF = "application/vnd.kubernetes.protobuf"
BOTH = f"{PROTOBUF},application/json"
MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/widgets"
MERGE = "application/merge-patch+json"


def partial(shape: str, version: str = "v1", media: str = PROTOBUF) -> str:
    return f"{media};as={shape};g=meta.k8s.io;v={version}"


def read(told: Response) -> dict[str, Any]:
    """Decodes a protobuf response."""
    assert told.headers["content-type"] == PROTOBUF, told.body
    return decoded(told.body)


def decoded(body: bytes) -> dict[str, Any]:
    unknown: list[str] = []
    found = decode.decode(body, encode.schema, on_unknown=unknown.append)
    assert unknown == []
    return found


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"b": "2", "a": "1"}}, "data": data}


async def in_both(server: InProcessServer, path: str, **query: str) -> tuple[Any, Any]:
    """Returns the response as JSON and as protobuf."""
    plain = await server.request("GET", path, query=query, accept=f"application/json,{PROTOBUF}")
    assert plain.headers["content-type"] == "application/json"
    return plain.json, read(await server.request("GET", path, query=query, accept=BOTH))


async def test_objects_and_lists_equal_their_json_form() -> None:
    async with running() as server:
        for name in ("x", "y"):
            await server.create("configmaps", "default", config_map(name, k="v", a=name))
        plain, other = await in_both(server, f"{MAPS}/x")
        assert other == plain
        plain, other = await in_both(server, MAPS)
        assert other == plain
        plain, other = await in_both(server, MAPS, limit="1")
        assert other == plain
        assert other["metadata"]["remainingItemCount"] == 1
        plain, other = await in_both(server, "/api/v1/namespaces/default")
        assert other == plain


async def test_writes_and_deletes_respond_in_protobuf() -> None:
    async with running() as server:
        made = await server.request("POST", MAPS, config_map("x", k="v"), accept=BOTH)
        assert (made.code, read(made)["data"]) == (201, {"k": "v"})
        changed = await server.request("PATCH", f"{MAPS}/x", {"data": {"k": "w"}}, media=MERGE, accept=BOTH)
        assert read(changed)["data"] == {"k": "w"}
        gone = read(await server.request("DELETE", f"{MAPS}/x", accept=BOTH))
        assert (gone["kind"], gone["status"], gone["details"]["name"]) == ("Status", "Success", "x")


@pytest.mark.parametrize("accept", [BOTH, PROTOBUF])
async def test_errors_are_statuses_in_protobuf(accept: str) -> None:
    async with running() as server:
        for path in (f"{MAPS}/none", "/apis/example.com/v1/nothing"):
            plain, response = await server.request("GET", path), await server.request("GET", path, accept=accept)
            found = read(response)
            assert (response.code, found) == (404, {**plain.json, "metadata": {}})
        invalid = {"metadata": {"name": "X"}}
        plain, response = await server.request("POST", MAPS, invalid), await server.request("POST", MAPS, invalid, accept=accept)
        assert read(response)["details"] == plain.json["details"]


async def test_partial_metadata_of_any_kind() -> None:
    async with running() as server:
        await server.create("configmaps", "default", config_map("x", k="v"))
        await server.create(DEFINITIONS, "", widgets())
        await server.create(f"{WIDGETS.strip('/')}", "", widget("w"))
        for path, name in ((MAPS, "x"), (WIDGETS, "w")):
            for version in ("v1", "v1beta1"):
                one = partial("PartialObjectMetadata", version)
                plain = await server.request("GET", f"{path}/{name}", accept=one.replace(PROTOBUF, "application/json"))
                assert read(await server.request("GET", f"{path}/{name}", accept=one)) == plain.json
                many = partial("PartialObjectMetadataList", version)
                plain = await server.request("GET", path, accept=many.replace(PROTOBUF, "application/json"))
                items = [{"metadata": item["metadata"]} for item in plain.json["items"]]
                assert read(await server.request("GET", path, accept=many)) == {**plain.json, "items": items}


def widgets() -> Any:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def widget(name: str) -> Any:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


async def test_custom_kinds_and_tables_have_no_protobuf_form() -> None:
    async with running() as server:
        await server.create(DEFINITIONS, "", widgets())
        table = partial("Table")
        for accept, path in ((BOTH, WIDGETS), (f"{table},application/json", MAPS), (f"{PROTOBUF}, */*", WIDGETS)):
            response = await server.request("GET", path, accept=accept)
            assert (response.code, response.headers["content-type"]) == (200, "application/json")
        for accept, path in ((PROTOBUF, WIDGETS), (table, MAPS)):
            response = await server.request("GET", path, accept=accept)
            assert response.code == 406
        refused = await server.request("GET", f"{WIDGETS}/none", accept=BOTH)
        assert (refused.code, read(refused)["reason"]) == (404, "NotFound")


async def watched(server: InProcessServer, path: str, accept: str, number: int, act: Any = None, **query: str) -> tuple[str, bytes]:
    """Returns the content type of a watch, and its bytes until this many events have arrived."""
    content, got = [""], bytearray()
    is_begun, is_over = asyncio.Event(), asyncio.Event()

    async def receive() -> dict[str, Any]:
        await is_over.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        content[0] = dict(message["headers"])[b"content-type"].decode() if "headers" in message else content[0]
        got.extend(message.get("body", b""))
        is_begun.set()
        if len(list(frames(bytes(got)))) >= number:
            is_over.set()

    scope = {"type": "http", "method": "GET", "path": path, "query_string": urlencode({**query, "watch": "1"}).encode()}
    watching = asyncio.ensure_future(server.app({**scope, "headers": [(b"accept", accept.encode())]}, receive, send))
    async with asyncio.timeout(60):
        await is_begun.wait()
        if act is not None:
            await act()
        await watching
    return content[0], bytes(got)


def frames(got: bytes) -> Iterator[bytes]:
    """Yields the complete frames."""
    while len(got) >= 4 and len(got) >= (end := 4 + int.from_bytes(got[:4], "big")):
        yield got[4:end]
        got = got[end:]


def events(got: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for frame in map(protobuf.fields, frames(got)):
        assert frame.numbers() == {1, 2}
        found.append((frame.chunk(1).decode(), decoded(protobuf.fields(frame.chunk(2)).chunk(1))))
    return found


INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.mark.parametrize("accept", [BOTH, f"{PROTOBUF};stream=watch"])
async def test_watches_send_changes_as_frames(accept: str) -> None:
    async with running() as server:
        await server.create("configmaps", "default", config_map("first", k="v"))

        async def act() -> None:
            await server.create("configmaps", "default", config_map("second", k="x" * 40_000))
            await server.request("PATCH", f"{MAPS}/second", {"data": {"k": "w"}}, media=MERGE)
            await server.request("DELETE", f"{MAPS}/second")

        content, got = await watched(server, MAPS, accept, 5, act, **INITIAL)
        assert content == f"{PROTOBUF};stream=watch"
        kinds = [
            (kind, object_["metadata"].get("name", ""), (object_.get("data") or {}).get("k", "")[:9])
            for kind, object_ in events(got)
        ]
        assert kinds == [
            ("ADDED", "first", "v"),
            ("BOOKMARK", "", ""),
            ("ADDED", "second", "x" * 9),
            ("MODIFIED", "second", "w"),
            ("DELETED", "second", "w"),
        ]
        bookmark = events(got)[1][1]
        assert bookmark["kind"] == "ConfigMap"
        assert bookmark["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}


async def test_watches_send_partial_metadata_and_errors() -> None:
    async with running() as server:
        await server.create("configmaps", "default", config_map("first", k="v"))
        _, got = await watched(server, MAPS, partial("PartialObjectMetadata"), 2, **INITIAL)
        kinds = [(kind, object_["kind"], object_["apiVersion"]) for kind, object_ in events(got)]
        assert kinds == [(kind, "PartialObjectMetadata", "meta.k8s.io/v1") for kind in ("ADDED", "BOOKMARK")]
        _, got = await watched(server, MAPS, BOTH, 1, resourceVersion="999999999")
        [(kind, told)] = events(got)
        assert (kind, told["kind"], told["code"]) == ("ERROR", "Status", 504)


async def test_json_clients_still_get_json() -> None:
    async with running() as server:
        await server.create("configmaps", "default", config_map("x", k="v"))
        plain = await server.request("GET", f"{MAPS}/x")
        for accept in ("*/*", "application/json, */*", "", f"application/json,{PROTOBUF}"):
            response = await server.request("GET", f"{MAPS}/x", accept=accept)
            assert (response.headers["content-type"], response.body) == ("application/json", plain.body)
        assert orjson.loads(plain.body)["data"] == {"k": "v"}
