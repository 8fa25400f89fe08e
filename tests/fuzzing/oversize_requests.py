"""Requests with a part that is parsed and grows, besides the fields of built-in kinds: queries, headers, definitions, bodies."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import orjson
import requests

from fuzzing import oversize_bodies as bodies
from fuzzing import oversize_definitions as definitions
from fuzzing import patches
from fuzzing.oversize_values import UNITS, text
from fuzzing.samples import DEFINITION, SAMPLES

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
URL_BYTES, HEADER_BYTES = 60_000, 900_000
"""Of a request line and of a header: larger ones are refused before anything is parsed."""
QUERY = ("labelSelector", "fieldSelector", "continue", "resourceVersion", "limit", "timeoutSeconds", "unknown")
HEADERS = {
    "Accept": ("application/json;q=0.1,", "a/b,", "*/*;q=0.", ";", "application/json;as=Table;v=v1;g=meta.k8s.io,"),
    "Content-Type": ("application/json;", "a=b;", "/"),
    "Authorization": ("Bearer a.", "Bearer eyJhbGciOiJub25lIn0.", "Basic a"),
    "Impersonate-User": ("a", "system:serviceaccount:"),
    "Impersonate-Group": ("a,", "system:"),
    "Impersonate-Extra-%41": ("a", "%41"),
    "Accept-Encoding": ("gzip,", "gzip;q=0.1,"),
    "User-Agent": ("a/b ",),
    "X-Forwarded-For": ("1.1.1.1,",),
    "Audit-ID": ("a",),
}
_WITH_PARTS = ("JSON", "YAML", "protobuf", "strategic", "merge patch", "apply", "CRD:", "metadata:")

Sent = dict[str, Any]


class Request(NamedTuple):
    """A request that can be made of any size."""

    name: str
    sent: Callable[[int], Sent]

    @property
    def has_parts(self) -> bool:
        """Whether what is large has many parts: then its like is plain data of many parts."""
        return "many" in self.name or self.name.startswith(_WITH_PARTS)


def plain(*, has_parts: bool) -> Request:
    """What others are compared with: a ConfigMap of the same size, in one text that nobody parses or in many parts."""
    make = bodies.plain_parts if has_parts else bodies.plain_text
    return Request("plain", lambda size: {"method": "POST", "url": CONFIG_MAPS, "data": orjson.dumps(make(size))})


def prepare(session: requests.Session, url: str) -> None:
    """A definition and an object of each sample, to patch and to select."""
    session.post(url + DEFINITIONS, json=DEFINITION, timeout=30).raise_for_status()
    for sample in SAMPLES:
        session.post(url + sample.path, json=sample.body, timeout=30)


def oversize_requests() -> Iterator[Request]:
    yield from _patches()
    yield from _created()
    yield from _definitions()
    yield from _queries()
    yield from _headers()


def _path(kind: str) -> str:
    return next(one for one in SAMPLES if one.body["kind"] == kind).path


def _with_body(method: str, url: str, size: int, *, media: str, make: bodies.Make) -> Sent:
    made = make(size)
    data = made if isinstance(made, bytes) else orjson.dumps(made)
    return {"method": method, "url": url, "data": data, "headers": {"Content-Type": media}}


def _patches() -> Iterator[Request]:
    applied = "?fieldManager=sizes&force=true"
    for sort, media, kind, query, table in (
        ("JSON patch", patches.JSON, "Thing", "", bodies.JSON_PATCHES),
        ("strategic merge patch", patches.STRATEGIC, "Deployment", "", bodies.STRATEGIC_PATCHES),
        ("merge patch", patches.MERGE, "Thing", "", bodies.MERGE_PATCHES),
        ("apply", patches.APPLY, "Thing", applied, bodies.APPLIED),
    ):
        for name, make in table.items():
            yield Request(f"{sort}: {name}", partial(_with_body, "PATCH", f"{_path(kind)}/a{query}", media=media, make=make))


def _created() -> Iterator[Request]:
    json = "application/json"
    for sort, media, url, table in (
        ("YAML", "application/yaml", CONFIG_MAPS, bodies.YAML),
        ("JSON", json, CONFIG_MAPS, bodies.JSON),
        ("protobuf", "application/vnd.kubernetes.protobuf", CONFIG_MAPS, bodies.PROTOBUF),
        ("metadata", json, CONFIG_MAPS, bodies.METADATA),
        ("schedule", json, _path("CronJob"), bodies.SCHEDULES),
        ("quantity", json, QUOTAS, bodies.QUANTITIES),
    ):
        for name, make in table.items():
            yield Request(f"{sort}: {name}", partial(_with_body, "POST", url, media=media, make=make))


def _definitions() -> Iterator[Request]:
    for name, make in definitions.DEFINITIONS.items():
        yield Request(name, partial(_with_body, "POST", DEFINITIONS, media="application/json", make=make))


def _queries() -> Iterator[Request]:
    def asked(name: str, unit: str, size: int) -> Sent:
        return {"method": "GET", "url": CONFIG_MAPS, "params": {name: text(unit, min(size, URL_BYTES // 3))}}

    def terms(name: str, size: int) -> Sent:
        wide = ",".join(f"k{n} in (a,b)" for n in range(min(size, URL_BYTES // 2) // 16))
        return {"method": "GET", "url": CONFIG_MAPS, "params": {name: wide}}

    def token(size: int) -> Sent:
        told = b'{"v":"meta.k8s.io/v1","rv":1,"start":"' + b"a/" * (min(size, URL_BYTES) // 4) + b'"}'
        return {"method": "GET", "url": CONFIG_MAPS, "params": {"continue": base64.urlsafe_b64encode(told).decode(), "limit": "1"}}

    for name, (shape, unit) in itertools.product(QUERY, UNITS.items()):
        yield Request(f"query {name}: {shape}", partial(asked, name, unit))
    for name in ("labelSelector", "fieldSelector"):
        yield Request(f"query {name}: many terms", partial(terms, name))
    yield Request("query continue: a token", token)
    yield Request("query: many parameters", lambda size: _get("?" + "a=b&" * (min(size, URL_BYTES) // 4)))
    yield Request("a long path", lambda size: _get("/a" * (min(size, URL_BYTES) // 2)))


def _get(end: str) -> Sent:
    return {"method": "GET", "url": CONFIG_MAPS + end}


def _headers() -> Iterator[Request]:
    def asked(name: str, unit: str, size: int) -> Sent:
        return {**_get(""), "headers": {name: text(unit, min(size, HEADER_BYTES))}}

    for name, units in HEADERS.items():
        for unit in units:
            yield Request(f"header {name}: {unit}", partial(asked, name, unit))
