"""Answers in Kubernetes' protobuf, for who prefers them: the same as in JSON, which all others get."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from probate.kinds.protobuf import decode, encode
from probate.lib import protobuf
from support.in_process_server import House, Told, running

PROTOBUF = "application/vnd.kubernetes.protobuf"
BOTH = f"{PROTOBUF},application/json"
MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/widgets"
MERGE = "application/merge-patch+json"


def partial(shape: str, version: str = "v1", media: str = PROTOBUF) -> str:
    return f"{media};as={shape};g=meta.k8s.io;v={version}"


def read(told: Told) -> dict[str, Any]:
    """What an answer in protobuf says."""
    assert told.headers["content-type"] == PROTOBUF, told.body
    return decoded(told.body)


def decoded(body: bytes) -> dict[str, Any]:
    unknown: list[str] = []
    found = decode.decode(body, encode.schema, on_unknown=unknown.append)
    assert unknown == []
    return found


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"b": "2", "a": "1"}}, "data": data}


async def in_both(house: House, path: str, **query: str) -> tuple[Any, Any]:
    """The answer as JSON and as protobuf, in the order of the wishes."""
    plain = await house.ask("GET", path, query=query, accept=f"application/json,{PROTOBUF}")
    assert plain.headers["content-type"] == "application/json"
    return plain.json, read(await house.ask("GET", path, query=query, accept=BOTH))


async def test_objects_and_lists_say_the_same_as_in_json() -> None:
    async with running() as house:
        for name in ("x", "y"):
            await house.create("configmaps", "default", config_map(name, k="v", a=name))
        plain, other = await in_both(house, f"{MAPS}/x")
        assert other == plain
        plain, other = await in_both(house, MAPS)
        assert other == plain
        plain, other = await in_both(house, MAPS, limit="1")
        assert other == plain
        assert other["metadata"]["remainingItemCount"] == 1
        plain, other = await in_both(house, "/api/v1/namespaces/default")
        assert other == plain


async def test_writes_and_deletes_answer_in_protobuf_too() -> None:
    async with running() as house:
        made = await house.ask("POST", MAPS, config_map("x", k="v"), accept=BOTH)
        assert (made.code, read(made)["data"]) == (201, {"k": "v"})
        changed = await house.ask("PATCH", f"{MAPS}/x", {"data": {"k": "w"}}, media=MERGE, accept=BOTH)
        assert read(changed)["data"] == {"k": "w"}
        gone = read(await house.ask("DELETE", f"{MAPS}/x", accept=BOTH))
        assert (gone["kind"], gone["status"], gone["details"]["name"]) == ("Status", "Success", "x")


@pytest.mark.parametrize("accept", [BOTH, PROTOBUF])
async def test_refusals_are_statuses_in_protobuf(accept: str) -> None:
    async with running() as house:
        for path in (f"{MAPS}/none", "/apis/example.com/v1/nothing"):
            plain, told = await house.ask("GET", path), await house.ask("GET", path, accept=accept)
            found = read(told)
            assert (told.code, found) == (404, {**plain.json, "metadata": {}})
        invalid = {"metadata": {"name": "X"}}
        plain, told = await house.ask("POST", MAPS, invalid), await house.ask("POST", MAPS, invalid, accept=accept)
        assert read(told)["details"] == plain.json["details"]


async def test_metadata_alone_of_any_kind() -> None:
    async with running() as house:
        await house.create("configmaps", "default", config_map("x", k="v"))
        await house.create(DEFINITIONS, "", widgets())
        await house.create(f"{WIDGETS.strip('/')}", "", widget("w"))
        for path, name in ((MAPS, "x"), (WIDGETS, "w")):
            for version in ("v1", "v1beta1"):
                one = partial("PartialObjectMetadata", version)
                plain = await house.ask("GET", f"{path}/{name}", accept=one.replace(PROTOBUF, "application/json"))
                assert read(await house.ask("GET", f"{path}/{name}", accept=one)) == plain.json
                many = partial("PartialObjectMetadataList", version)
                plain = await house.ask("GET", path, accept=many.replace(PROTOBUF, "application/json"))
                items = [{"metadata": item["metadata"]} for item in plain.json["items"]]
                assert read(await house.ask("GET", path, accept=many)) == {**plain.json, "items": items}


def widgets() -> Any:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": "v1", "served": True, "storage": True, "schema": schema}]
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": versions}
    return {"metadata": {"name": "widgets.example.com"}, "spec": spec}


def widget(name: str) -> Any:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}}


async def test_custom_kinds_and_tables_have_no_protobuf_form() -> None:
    async with running() as house:
        await house.create(DEFINITIONS, "", widgets())
        table = partial("Table")
        for accept, path in ((BOTH, WIDGETS), (f"{table},application/json", MAPS), (f"{PROTOBUF}, */*", WIDGETS)):
            told = await house.ask("GET", path, accept=accept)
            assert (told.code, told.headers["content-type"]) == (200, "application/json")
        for accept, path in ((PROTOBUF, WIDGETS), (table, MAPS)):
            told = await house.ask("GET", path, accept=accept)
            assert told.code == 406
        refused = await house.ask("GET", f"{WIDGETS}/none", accept=BOTH)
        assert (refused.code, read(refused)["reason"]) == (404, "NotFound")


async def watched(house: House, path: str, accept: str, number: int, act: Any = None, **query: str) -> tuple[str, bytes]:
    """The content type of a watch, and what it sent until so many events have come."""
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
    watching = asyncio.ensure_future(house.app({**scope, "headers": [(b"accept", accept.encode())]}, receive, send))
    async with asyncio.timeout(60):
        await is_begun.wait()
        if act is not None:
            await act()
        await watching
    return content[0], bytes(got)


def frames(got: bytes) -> Iterator[bytes]:
    """The frames that are whole."""
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
async def test_watches_tell_of_changes_in_frames(accept: str) -> None:
    async with running() as house:
        await house.create("configmaps", "default", config_map("first", k="v"))

        async def act() -> None:
            await house.create("configmaps", "default", config_map("second", k="x" * 40_000))
            await house.ask("PATCH", f"{MAPS}/second", {"data": {"k": "w"}}, media=MERGE)
            await house.ask("DELETE", f"{MAPS}/second")

        content, got = await watched(house, MAPS, accept, 5, act, **INITIAL)
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


async def test_watches_tell_of_metadata_alone_and_of_errors() -> None:
    async with running() as house:
        await house.create("configmaps", "default", config_map("first", k="v"))
        _, got = await watched(house, MAPS, partial("PartialObjectMetadata"), 2, **INITIAL)
        kinds = [(kind, object_["kind"], object_["apiVersion"]) for kind, object_ in events(got)]
        assert kinds == [(kind, "PartialObjectMetadata", "meta.k8s.io/v1") for kind in ("ADDED", "BOOKMARK")]
        _, got = await watched(house, MAPS, BOTH, 1, resourceVersion="999999999")
        [(kind, told)] = events(got)
        assert (kind, told["kind"], told["code"]) == ("ERROR", "Status", 504)


async def test_who_asks_for_json_is_answered_as_ever() -> None:
    async with running() as house:
        await house.create("configmaps", "default", config_map("x", k="v"))
        plain = await house.ask("GET", f"{MAPS}/x")
        for accept in ("*/*", "application/json, */*", "", f"application/json,{PROTOBUF}"):
            told = await house.ask("GET", f"{MAPS}/x", accept=accept)
            assert (told.headers["content-type"], told.body) == ("application/json", plain.body)
        assert orjson.loads(plain.body)["data"] == {"k": "v"}
